import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

interface Floor {
  /** One version, or one for each major version that may be used. */
  minimum: string | Record<string, string>;
  why: string;
  /** Where it is written. */
  source?: string;
  /** That this minimum has the fix was not read in the advisory or the release notes themselves. */
  unverified?: boolean;
}

const floors: Record<string, Floor> = read('./minimum-versions.json');
const manifest = read('../package.json');
const locked: Record<string, { version?: string; resolved?: string; integrity?: string; link?: boolean }> =
  read('../package-lock.json').packages;

const parts = (version: string) => version.split(/[-+]/)[0]!.split('.').map(Number);

function isBelow(version: string, minimum: string): boolean {
  const [have, need] = [parts(version), parts(minimum)];
  const at = have.findIndex((part, index) => part !== need[index]);
  return at >= 0 && have[at]! < need[at]!;
}

/** What is wrong with a version; undefined when nothing is. */
function faultOf(version: string, { minimum, why }: Floor): string | undefined {
  const needed = typeof minimum === 'string' ? minimum : minimum[String(parts(version)[0])];
  if (needed === undefined) return `no version of this major is known to be safe: ${why}`;
  return isBelow(version, needed) ? `${version} < ${needed}: ${why}` : undefined;
}

test('versions are compared by their numbers', () => {
  expect(isBelow('4.9.0', '4.12.23')).toBe(true);
  expect(isBelow('4.12.23', '4.12.23')).toBe(false);
  expect(isBelow('10.0.0', '4.12.23')).toBe(false);
});

describe('the lock file', () => {
  test('holds no version with a known hole', () => {
    const found = Object.entries(locked).flatMap(([path, { version }]) => {
      const floor = floors[path.replace(/^.*node_modules\//, '')];
      const fault = floor && version && faultOf(version, floor);
      return fault ? [`${path} ${fault}`] : [];
    });
    expect(found).toEqual([]);
  });

  test('is compared by major version where a fix was released for several', () => {
    const floor = { minimum: { 7: '7.5.6', 8: '8.6.5' }, why: 'x' };
    expect(['7.5.6', '7.6.0', '8.6.5'].map((version) => faultOf(version, floor))).toEqual(Array(3).fill(undefined));
    expect(['6.11.4', '7.5.5', '8.0.1', '9.0.0'].every((version) => faultOf(version, floor))).toBe(true);
  });

  test('has a minimum for every library that reads what callers or providers send', () => {
    const readers = ['hono', '@hono/node-server', 'ajv', '@marcbachmann/cel-js', 'nodemailer', 'protobufjs', 'undici'];
    expect(readers.filter((name) => !(name in floors))).toEqual([]);
  });

  test('every minimum names its source, or says that it is unverified', () => {
    const bare = Object.entries(floors).filter(([, { source, unverified }]) => !unverified && !source);
    expect(bare).toEqual([]);
    for (const { source } of Object.values(floors)) if (source) expect(URL.canParse(source)).toBe(true);
  });

  test('pins everything that is downloaded by its hash', () => {
    const loose = Object.entries(locked).filter(
      ([path, { resolved, integrity }]) => path !== '' && resolved && !integrity,
    );
    expect(loose.map(([path]) => path)).toEqual([]);
  });
});

test('every direct dependency is pinned exactly', () => {
  const ranges = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }).filter(
    ([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(String(version)),
  );
  expect(ranges).toEqual([]);
});
