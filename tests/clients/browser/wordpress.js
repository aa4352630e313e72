// WordPress, installed and used in Chromium. What is checked is listed in tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { copyOf, patience, run, serve, server } = require('./application.js');

const title = 'Ein Gruß an die Dinosaurier 🦕';
const text = `It's "quoted" <b>text</b> with ünïcödé 🦖.`;
const database = 'client_wordpress';

const checks = {
  async 'the database is set up by its form'({ page, url }) {
    await page.goto(`${url}/wp-admin/setup-config.php?step=1&language=en_US`);
    await page.fill('#dbname', database);
    await page.fill('#uname', 'client_wordpress');
    await page.fill('#pwd', 'secret');
    await page.fill('#dbhost', `${server.host}:${server.port}`);
    await page.click('input[type=submit]');
    await page.click('a[href^="install.php"]');
  },

  async 'it is installed by its form'({ page, root }) {
    await page.fill('#weblog_title', 'Dinosaurs');
    await page.fill('#user_login', 'writer');
    await page.fill('#pass1', 'a long enough password 7');
    await page.fill('#admin_email', 'writer@example.com');
    await page.click('#submit');
    await page.getByText('Success!').waitFor();
    const [[{ tables }]] = await root.query(`SELECT COUNT(*) tables FROM information_schema.TABLES WHERE TABLE_SCHEMA = '${database}'`);
    assert.equal(tables, 12);
  },

  async 'log in'({ page, url }) {
    await page.goto(`${url}/wp-login.php`);
    await page.fill('#user_login', 'writer');
    await page.fill('#user_pass', 'wrong');
    await page.click('#wp-submit');
    await page.getByText('is incorrect').waitFor();
    // This page empties its password field after a while.
    await page.goto(`${url}/wp-login.php`);
    await page.fill('#user_login', 'writer');
    await page.fill('#user_pass', 'a long enough password 7');
    await page.click('#wp-submit');
    await page.locator('#dashboard_right_now').waitFor();
  },

  async 'a post is written in the editor'({ page, url }) {
    await page.goto(`${url}/wp-admin/post-new.php`);
    await page.waitForFunction(() => window.wp?.data?.select('core/editor')?.getCurrentPostId());
    // The guide lies over the editor.
    await page.evaluate(() => window.wp.data.dispatch('core/preferences').set('core/edit-post', 'welcomeGuide', false));
    await page.locator('.editor-post-title__input').fill(title);
    await page.locator('.block-editor-default-block-appender__content').click();
    await page.keyboard.insertText(text);
    await page.click('.editor-post-publish-panel__toggle');
    await page.click('.editor-post-publish-panel .editor-post-publish-button');
    await page.getByText('is now live').first().waitFor();
  },

  async 'a visitor reads it and comments'({ page, browser, url, root }) {
    const visitor = await (await browser.newContext()).newPage();
    visitor.setDefaultTimeout(patience);
    await visitor.goto(url);
    await visitor.getByRole('link', { name: title }).first().click();
    // It shows typographic quotes.
    const shown = await visitor.textContent('.entry-content p');
    const plain = shown.trim().replace(/[“”″]/g, '"').replace('’', "'");
    assert.equal(plain, text, JSON.stringify(shown));
    await visitor.fill('#comment', 'A comment: “naïve” 🥚');
    await visitor.fill('#author', 'A. Visitor');
    await visitor.fill('#email', 'visitor@example.com');
    await visitor.click('#submit');
    await visitor.getByText('awaiting moderation').first().waitFor();
    await visitor.context().close();
    const [[{ comment }]] = await root.query(`SELECT comment_content comment FROM ${database}.wp_comments WHERE comment_author = 'A. Visitor'`);
    assert.equal(comment, 'A comment: “naïve” 🥚');
  },

  async 'the comment is approved'({ page, url }) {
    await page.goto(`${url}/wp-admin/edit-comments.php?comment_status=moderated`);
    const line = page.locator('#the-comment-list tr', { hasText: 'A. Visitor' });
    await line.hover();
    await line.locator('span.approve a').click();
    await page.locator('#the-comment-list tr', { hasText: 'A. Visitor' }).waitFor({ state: 'detached' });
    await page.goto(url);
    await page.getByRole('link', { name: title }).first().click();
    await page.locator('.comment-content', { hasText: 'naïve' }).waitFor();
  },

  async 'search finds it, and finds nothing else'({ page, url }) {
    for (const [words, found] of [['dinosaurier', 1], ['gruß ünïcödé', 1], ['mammoth', 0]]) {
      await page.goto(url);
      await page.locator('input[type=search]').first().fill(words);
      await page.locator('input[type=search]').first().press('Enter');
      await page.waitForURL('**/?s=*');
      assert.equal(await page.locator('article').count(), found, words);
    }
  },

  async 'pages of the administration'({ page, url }) {
    for (const name of ['index', 'edit', 'edit-tags', 'edit-comments', 'users', 'options-general', 'options-permalink', 'upload', 'site-health', 'export', 'themes']) {
      const answer = await page.goto(`${url}/wp-admin/${name}.php${name === 'edit-tags' ? '?taxonomy=category' : ''}`);
      assert.equal(answer.status(), 200, name);
      await page.locator('#wpbody-content h1').first().waitFor();
    }
  },

  async 'the post is thrown away'({ page, url, root }) {
    await page.goto(`${url}/wp-admin/edit.php`);
    const line = page.locator('#the-list tr', { hasText: title });
    await line.hover();
    await line.locator('span.trash a').click();
    await page.getByText('moved to the Trash').waitFor();
    const [[{ status }]] = await root.query(`SELECT post_status status FROM ${database}.wp_posts WHERE post_title = ?`, [title]);
    assert.equal(status, 'trash');
  },
};

async function start(log) {
  const site = copyOf('/usr/share/wordpress', 'wp-includes/version.php');
  fs.rmSync(path.join(site, 'wp-config.php'), { force: true });
  const settings = { auto_prepend_file: path.join(__dirname, 'wordpress.php'), sendmail_path: '/bin/true', display_errors: 0, log_errors: 1 };
  return serve(site, settings, log);
}

run({
  name: 'client_wordpress',
  databases: [database],
  start,
  complaint: line => /WordPress database error|PHP (Fatal|Parse)/.test(line),
}, checks);
