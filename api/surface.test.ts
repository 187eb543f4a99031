import { describe, expect, test } from '@jest/globals';
import { workflowIds } from '../src/automation/core/ids.ts';
import { webhookIds } from '../src/webhooks/core/ids.ts';
import { e1, e2 } from './envelopes.ts';
import { mounts } from './mounts.ts';
import { canonicalPath, type Surface, surfaceFinder } from './surface.ts';

const root: Surface = { paths: ['/'], envelope: e1, hasDialects: false, ids: [] };
const versioned: Surface = { paths: ['/api/v1', '/v1'], envelope: e1, hasDialects: true, ids: [workflowIds] };

describe('the surface of a path', () => {
  const find = surfaceFinder([
    root,
    versioned,
    { ...versioned, ids: [webhookIds] },
    { paths: ['/api/chat'], envelope: e2, hasDialects: false, ids: [] },
    { paths: ['/api/v1/chat'], envelope: e2, hasDialects: true, ids: [] },
  ]);

  test.each([
    ['/', e1, false],
    ['/nothing', e1, false],
    ['/api', e1, false],
    ['/api/v1', e1, true],
    ['/v1/', e1, true],
    ['/v1/workflows', e1, true],
    ['/v1x/workflows', e1, false],
    ['/V1/workflows', e1, false],
    ['/api/chat', e2, false],
    ['/api/chatter', e1, false],
    ['/api/v1/chat/x', e2, true],
  ])('%s is that of the longest path above it', (path, envelope, hasDialects) => {
    expect(find(path)).toMatchObject({ envelope, hasDialects });
  });

  test('has the ids of every feature at its path', () => {
    expect(find('/v1/x').ids).toEqual([workflowIds, webhookIds]);
  });

  test('is one: two features at a path answer in the same way', () => {
    expect(() => surfaceFinder([root, versioned, { ...versioned, envelope: e2 }])).toThrow('/api/v1');
    expect(() => surfaceFinder([root, versioned, { ...versioned, hasDialects: false }])).toThrow('/api/v1');
    expect(() => surfaceFinder([root, versioned, { ...versioned, paths: ['/v1'] }])).toThrow('/v1');
  });
});

test.each([
  ['/v1/runs/x', '/api/v1/runs/x'],
  ['/api/v1/runs/x', '/api/v1/runs/x'],
  ['/v1', '/api/v1'],
])('the canonical path of %s is %s', (path, canonical) => {
  expect(canonicalPath(versioned, path)).toBe(canonical);
});

test('the mounts of the product agree with each other, and declare each tag and security scheme once', () => {
  expect(() => surfaceFinder(mounts)).not.toThrow();
  const tags = mounts.flatMap((mount) => mount.tags.map(({ name }) => name));
  const schemes = mounts.flatMap(({ securitySchemes = {} }) => Object.keys(securitySchemes));
  for (const names of [tags, schemes]) expect(new Set(names).size).toBe(names.length);
});
