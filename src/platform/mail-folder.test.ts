import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { inBatches } from './database/batches.ts';
import { removeOldMails } from './mail-folder.ts';

const now = Date.parse('2026-11-01T12:00:00Z');
const dayMs = 86_400_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'atelier-mail-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, ageMs: number): void {
  const path = join(folder, name);
  writeFileSync(path, 'To: ada@example.com\r\n');
  utimesSync(path, new Date(now - ageMs), new Date(now - ageMs));
}
const left = () => readdirSync(folder).toSorted();

test('mails are kept for seven days, and other files for ever', async () => {
  write('old.eml', 7 * dayMs + 1_000);
  write('.unfinished.eml.123', 8 * dayMs);
  write('young.eml', 7 * dayMs - 1_000);
  write('.env', 30 * dayMs);
  write('notes.txt', 30 * dayMs);
  expect(await removeOldMails(folder, 10, { now })).toBe(2);
  expect(left()).toEqual(['.env', 'notes.txt', 'young.eml']);
});

test('the newest are kept, however many there are, and a call removes no more than it may', async () => {
  for (let n = 0; n < 25; n++) write(`${String(n).padStart(2, '0')}.eml`, n * 1_000);
  expect(await removeOldMails(folder, 4, { now, kept: 3 })).toBe(4);
  expect(left()).toHaveLength(21);
  expect(await inBatches((limit) => removeOldMails(folder, limit, { now, kept: 3 }), 4)).toBe(18);
  expect(left()).toEqual(['00.eml', '01.eml', '02.eml']);
});

test('a folder that does not exist has none', async () => {
  expect(await removeOldMails(join(folder, 'absent'), 10)).toBe(0);
  mkdirSync(join(folder, 'empty'));
  expect(await removeOldMails(join(folder, 'empty'), 10)).toBe(0);
});
