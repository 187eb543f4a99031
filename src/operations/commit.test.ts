import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { commitOf } from './commit.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-commit-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('the commit of an image is in its file COMMIT', async () => {
  writeFileSync(join(folder, 'COMMIT'), 'abcdef0123456789\n');
  expect(await commitOf(folder)).toBe('abcdef0123456789');
});

test('an image built without the argument, and a folder that is no checkout, have an unknown commit', async () => {
  expect(await commitOf(folder)).toBe('unknown');
  writeFileSync(join(folder, 'COMMIT'), '');
  expect(await commitOf(folder)).toBe('unknown');
});

test('the commit of a checkout is the one that git names', async () => {
  expect(await commitOf()).toBe(execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim());
});
