import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { scheduledWorkflows, type Workflows, workflowTypes } from '../src/temporal/contracts.ts';
import { runningServers } from '../test/servers.ts';
import { prepareBundle } from '../workers/bundle.ts';
import * as workflows from './index.ts';

let code: string;
beforeAll(async () => {
  const { path } = await prepareBundle(runningServers().bundles);
  code = await readFile(path, 'utf8');
});

test('the exports are the workflows that the contract names', () => {
  const promised: Workflows = workflows;
  const named = [...Object.values(workflowTypes), ...Object.values(scheduledWorkflows)];
  expect(Object.keys(promised).sort()).toEqual(named.sort());
});

test('the bundle holds workflow code, cores, the contract and the SDK, and nothing else', () => {
  const modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)"/gm)].map(([, name]) => name!);
  const allowed = [
    /^\.\/workflows\/[^/]+\.ts$/,
    /^\.\/src\/[^/]+\/core\/[^/]+\.ts$/,
    /^\.\/src\/temporal\/contracts\.ts$/,
    // The SDK's workflow side, and what that brings.
    /^\.\/node_modules\/(@temporalio\/(common|workflow)|nexus-rpc|ms|long)\//,
    // Modules that are left out of it.
    /^\?[0-9a-f]+$/,
  ];
  expect(modules).toContain('./workflows/execute-run.ts');
  expect(modules).toContain('./src/temporal/contracts.ts');
  expect(modules.filter((name) => !allowed.some((pattern) => pattern.test(name)))).toEqual([]);
  expect(code).not.toMatch(/require\(["']node:/);
});
