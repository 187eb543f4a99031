import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from '@jest/globals';
import type { AutomationWorkflows } from '../src/temporal/contracts/automation.ts';
import type { CalendarWorkflows } from '../src/temporal/contracts/calendars.ts';
import type { ConversationWorkflows } from '../src/temporal/contracts/conversation.ts';
import type { FollowWorkflows } from '../src/temporal/contracts/followed-integrations.ts';
import type { HousekeepingWorkflows } from '../src/temporal/contracts/housekeeping.ts';
import type { IntegrationEventWorkflows } from '../src/temporal/contracts/integration-events.ts';
import type { IntegrationWorkflows } from '../src/temporal/contracts/integrations.ts';
import type { BookingWorkflows } from '../src/temporal/contracts/scheduling.ts';
import type { StudioWorkflows } from '../src/temporal/contracts/studio.ts';
import type { VoiceWorkflows } from '../src/temporal/contracts/voice.ts';
import type { WebhookWorkflows } from '../src/temporal/contracts/webhooks.ts';
import { workflowTypes } from '../test/histories/workflow-types.ts';
import { runningServers } from '../test/servers.ts';
import { prepareBundle } from '../workers/bundle.ts';
import * as workflows from './index.ts';

let code: string;
beforeAll(async () => {
  const { path } = await prepareBundle(runningServers().bundles);
  code = await readFile(path, 'utf8');
});

/** Checked by the compiler: the arguments and results of the workflows are those that their contracts name. */
type Promised = AutomationWorkflows &
  BookingWorkflows &
  CalendarWorkflows &
  ConversationWorkflows &
  FollowWorkflows &
  HousekeepingWorkflows &
  IntegrationEventWorkflows &
  IntegrationWorkflows &
  StudioWorkflows &
  VoiceWorkflows &
  WebhookWorkflows;

test('the exports are the workflows that the contracts name', async () => {
  const promised: Promised = workflows;
  expect(Object.keys(promised).sort()).toEqual((await workflowTypes()).sort());
});

test('the bundle holds workflow code, cores, the contract and the SDK, and nothing else', () => {
  const modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)"/gm)].map(([, name]) => name!);
  const allowed = [
    /^\.\/workflows\/[^/]+\.ts$/,
    /^\.\/src\/[^/]+\/core\/[^/]+\.ts$/,
    /^\.\/src\/temporal\/contracts\/[^/]+\.ts$/,
    // The SDK's workflow side, and what that brings.
    /^\.\/node_modules\/(@temporalio\/(common|workflow)|nexus-rpc|ms|long)\//,
    // Modules that are left out of it.
    /^\?[0-9a-f]+$/,
  ];
  expect(modules).toContain('./workflows/execute-run.ts');
  expect(modules).toContain('./src/temporal/contracts/webhooks.ts');
  expect(modules.filter((name) => !allowed.some((pattern) => pattern.test(name)))).toEqual([]);
  expect(code).not.toMatch(/require\(["']node:/);
});
