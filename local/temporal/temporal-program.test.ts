import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { atLeast, findTemporalProgram, parseVersion, pinnedVersion } from './temporal-program.ts';

describe('versions', () => {
  test('are read from what the program says', () => {
    expect(parseVersion('temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)\n')).toBe('1.8.2');
    expect(parseVersion('temporal version v1.10.0-rc1')).toBe('1.10.0');
    expect(parseVersion('temperature 20')).toBeUndefined();
  });

  test.each([
    ['1.5.0', true],
    ['1.10.0', true],
    ['2.0.0', true],
    ['1.4.9', false],
    ['0.12.0', false],
  ])('%s is 1.5.0 or newer: %s', (version, expected) => expect(atLeast(version, '1.5.0')).toBe(expected));

  test('the one we build is named in go.mod alone', () => {
    expect(
      pinnedVersion(
        'require (\n\tgithub.com/temporalio/cli/cliext v0.0.0\n\tgithub.com/temporalio/cli v1.9.0 // indirect\n)',
      ),
    ).toBe('1.9.0');
    expect(pinnedVersion()).toMatch(/^\d+\.\d+\.\d+$/);
  });
});

describe('the search', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'atelier-program-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function program(path: string, says: string): string {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\necho '${says}'\n`);
    chmodSync(path, 0o755);
    return path;
  }

  const search = (settings: { temporalCli?: string; path?: string }) =>
    findTemporalProgram({
      settings: {
        ...(settings.temporalCli !== undefined && { temporalCli: settings.temporalCli }),
        cacheFolder: join(folder, 'cache'),
        parentEnvironment: { PATH: settings.path ?? '' },
      },
      log() {},
    });
  const cached = () => join(folder, 'cache', 'atelier', 'temporal', pinnedVersion(), 'temporal');

  test('takes the named program before all others', async () => {
    program(cached(), 'temporal version 1.8.2');
    const named = program(join(folder, 'mine'), 'temporal version 1.6.0');
    expect(await search({ temporalCli: named })).toEqual({ path: named, version: '1.6.0', source: 'TEMPORAL_CLI' });
  });

  test('refuses a named program that is not the CLI, whatever else is there', async () => {
    program(cached(), 'temporal version 1.8.2');
    const named = program(join(folder, 'mine'), 'hello');
    await expect(search({ temporalCli: named })).rejects.toThrow('TEMPORAL_CLI');
    await expect(search({ temporalCli: join(folder, 'missing') })).rejects.toThrow('does not run');
  });

  test('takes the one on PATH when it is new enough, else the cached one', async () => {
    const onPath = program(join(folder, 'bin', 'temporal'), 'temporal version 1.5.1');
    expect((await search({ path: join(folder, 'bin') })).source).toBe('PATH');
    program(onPath, 'temporal version 1.4.0');
    program(cached(), 'temporal version 1.8.2');
    expect(await search({ path: join(folder, 'bin') })).toEqual({ path: cached(), version: '1.8.2', source: 'cache' });
  });
});
