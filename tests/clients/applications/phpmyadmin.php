<?php
// The configuration of phpMyAdmin for its check.
$cfg['blowfish_secret'] = 'only for the check, 32 bytes long';
$cfg['Servers'][1]['auth_type'] = 'cookie';
$cfg['Servers'][1]['host'] = getenv('STEMDB_HOST');
$cfg['Servers'][1]['port'] = getenv('STEMDB_PORT');
$cfg['Servers'][1]['connect_type'] = 'tcp';
$cfg['SendErrorReports'] = 'never';
