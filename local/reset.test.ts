import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openDataFolder } from './data-folder.ts';
import { holdDataFolder } from './holding.ts';
import { resetDataFolder } from './reset.ts';

let parent: string;
let path: string;
let lines: string[];
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'atelier-reset-'));
  path = join(parent, 'data');
  lines = [];
  mkdirSync(path);
  writeFileSync(join(path, 'kept'), 'rows');
});
afterEach(() => rmSync(parent, { recursive: true }));

const reset = (answer: string | undefined, isConfirmed = false) =>
  resetDataFolder(path, {
    ask: answer === undefined ? undefined : async () => answer,
    isConfirmed,
    log: (line) => lines.push(line),
    now: new Date('2026-12-01T10:20:30Z'),
  });

test.each([
  ['a person', 'y', false],
  ['the command line', undefined, true],
])('the folder is moved aside whole when %s confirms it', async (_, answer, isConfirmed) => {
  expect(await reset(answer, isConfirmed)).toBe(true);
  const aside = join(parent, 'data-until-2026-12-01T102030');
  expect(readdirSync(parent)).toEqual(['data-until-2026-12-01T102030']);
  expect(readFileSync(join(aside, 'kept'), 'utf8')).toBe('rows');
  expect(lines).toEqual([`The data so far is in ${aside}.`]);
});

test.each(['', 'n', 'yesterday'])('it stays when the answer is "%s"', async (answer) => {
  expect(await reset(answer)).toBe(false);
  expect(readFileSync(join(path, 'kept'), 'utf8')).toBe('rows');
});

test('without a terminal it has to be confirmed on the command line', async () => {
  await expect(reset(undefined)).rejects.toThrow('--yes');
  expect(existsSync(join(path, 'kept'))).toBe(true);
});

test('it stays while a stack uses it', async () => {
  const hold = await holdDataFolder(openDataFolder(path), { log: () => {} });
  await expect(reset('y')).rejects.toThrow('already runs');
  hold.release();
  expect(existsSync(join(path, 'kept'))).toBe(true);
});

test('where there is no folder there is nothing to move', async () => {
  rmSync(path, { recursive: true });
  expect(await reset(undefined)).toBe(true);
});
