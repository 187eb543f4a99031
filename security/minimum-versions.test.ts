import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));

interface Floor {
  minimum: string;
  why: string;
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

test('versions are compared by their numbers', () => {
  expect(isBelow('4.9.0', '4.12.23')).toBe(true);
  expect(isBelow('4.12.23', '4.12.23')).toBe(false);
  expect(isBelow('10.0.0', '4.12.23')).toBe(false);
});

describe('the lock file', () => {
  test('holds no version with a known hole', () => {
    const found = Object.entries(locked).flatMap(([path, { version }]) => {
      const floor = floors[path.replace(/^.*node_modules\//, '')];
      return floor && version && isBelow(version, floor.minimum)
        ? [`${path} ${version} < ${floor.minimum}: ${floor.why}`]
        : [];
    });
    expect(found).toEqual([]);
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
