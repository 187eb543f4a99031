import { expect, test } from '@jest/globals';
import { pathWithoutSecret, secretFromPath } from './trigger-path.ts';

const at = '/v1/webhooks/wf_1/trg_';

test.each<[sent: string, path: string, secret: string | undefined]>([
  ['/v1/webhooks/wf_1/trg_a-b_C', at, 'trg_a-b_C'],
  ['/api/v1/webhooks/wf_1/trg_abc', `/api${at}`, 'trg_abc'],
  ['/v1/webhooks/wf_1/%74rg_ab%63?x=/y', at, 'trg_abc'],
  ['/v1/webhooks/wf_1/trg_', at, 'trg_'],
  ['/v1/webhooks/wf_1/trg_abc/', `${at}/`, 'trg_abc'],
  ['/v1/webhooks/wf_1/trg_abc/more', `${at}/more`, 'trg_abc'],
  ['/v1/webhooks/wf_1/test', '/v1/webhooks/wf_1/test', undefined],
  ['/v1/webhooks/wf_1?x=/trg_abc', '/v1/webhooks/wf_1', undefined],
  // The id of a step may look like a secret.
  ['/v1/runs/run_1/outputs/trg_step', '/v1/runs/run_1/outputs/trg_step', undefined],
])('routes see %s as %s, and its secret is %s', (sent, path, secret) => {
  const request = new Request(`http://localhost${sent}`);
  expect(pathWithoutSecret(request)).toBe(path);
  expect(secretFromPath(request)).toBe(secret);
});
