import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openDataFolder } from './data-folder.ts';
import { requireUsableFiles } from './usable-data.ts';

let parent: string;
let path: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'atelier-usable-'));
  path = join(parent, 'data');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

/** The files of a stack that was started before. */
function fill(): void {
  openDataFolder(path);
  mkdirSync(join(path, 'postgres'));
  writeFileSync(join(path, 'postgres', 'PG_VERSION'), '18\n');
  writeFileSync(join(path, 'secrets.json'), '{}');
}

describe('files that cannot be used are refused with one sentence that says how to begin anew', () => {
  const refusal = (): string => {
    try {
      requireUsableFiles(openDataFolder(path));
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  test('where they are of another PostgreSQL', () => {
    fill();
    writeFileSync(join(path, 'postgres', 'PG_VERSION'), '17\n');
    expect(refusal()).toMatch(
      /^The data in .* PostgreSQL 17 .*"npm start -- --reset" moves it aside and begins anew[^.]*\.$/,
    );
  });

  test('where the passwords are gone', () => {
    fill();
    rmSync(join(path, 'secrets.json'));
    expect(refusal()).toMatch(/secrets\.json.*npm start -- --reset/);
  });

  test('and those of a first start or of this version are not', () => {
    expect(refusal()).toBe('');
    fill();
    expect(refusal()).toBe('');
  });
});
