<?php
// Set before WordPress reads its configuration: it asks no other machine anything, and does no work between requests.
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
