import { withoutSlash } from '../../src/platform/core/base-url.ts';
import type { PlanLimit } from '../../src/tenancy/core/plan-limits.ts';
import { planTable } from './plan-table.ts';
import { commandsAt, type FeatureExample } from './reference-examples.ts';

const post = (url: string, body: string) =>
  `curl ${url} -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\\n  -d '${body}'`;

/** For a POSIX shell with curl. */
const quickStart = (api: string) => [
  '## Quick start',
  '',
  'Put a test key into a variable, create a workflow, and execute it. The second command returns the id of the workflow:',
  'put it in place of `WORKFLOW_ID`. The answer of the third is the finished run.',
  '',
  '```sh',
  'export KEY=sk_test_…',
  '',
  post(
    `${api}/workflows`,
    '{"name": "First workflow", "steps": [{"id": "greet", "type": "prompt", "prompt": "Greet {{input}}."}]}',
  ),
  '',
  post(`${api}/workflows/WORKFLOW_ID/execute`, '{"input": "Ada"}'),
  '```',
  '',
  'The examples of `POST /workflows` have a step of every type.',
];

const conventions = (limits: readonly PlanLimit[]) => [
  '## Conventions',
  '',
  '**Paths.** Every path below `/api/v1` is also served below `/v1`, with the same operation. This document lists each',
  'operation once.',
  '',
  '**Dialects.** Operations below `/api/v1` accept requests in two dialects, A and B. An answer is in the dialect chosen',
  'by, in this order: the header `X-API-Variant`; a `wf_` or `run_` id in the path; the body of an execute request',
  '(`inputs` is B, `input` or `variables` A); the setting of the API key. Errors follow the same order, as far as the',
  'request was read when it was refused. Where answers differ, the names of their schemas end in A or B, and their',
  'descriptions name a member that distinguishes them.',
  '',
  '**Sandbox.** Test keys never reach a provider: the sandbox answers. Words in a prompt make it fail: `sandbox:fail`;',
  '`sandbox:fail@<model>` (this model only, so that fallbacks are used); `sandbox:overloaded` (until the third attempt);',
  '`sandbox:refuse` (`content_refused`); `sandbox:timeout`. `sandbox:slow=<seconds>` makes it answer late. In the last',
  'message to a model or agent `sandbox:tool=<server>_<function> {"argument": 1}` calls a tool that is offered.',
  '',
  '**Retries.** Send an `Idempotency-Key` to retry a POST safely. 429 and 503 answers carry `Retry-After`, except',
  '`provider_not_configured` and `/api/ready`, where waiting alone does not help.',
  '',
  '**Requests.** Bodies are JSON in UTF-8, without `Content-Encoding`. They have at most 1 MiB, 64 levels, and 40,000',
  'objects, lists and members together. No text in them contains the character NUL or half of a',
  'surrogate pair, and no number is beyond the range of a double. An unknown path',
  'is answered with 404 `not_found`, and a method that a path does not support with 405 `method_not_allowed` and `Allow`.',
  'HEAD is answered like GET, without a body. A request that is not valid HTTP is answered with 400, 408 or 431, and the',
  'connection is closed. A malformed id, or the id of a resource of another organization, is answered like an unknown id.',
  'Prefixed ids are read in upper and lower case.',
  '',
  '**Limits.** They depend on the plan and apply to test and live keys separately; an operator can change the limits on',
  'requests for an organization. A request over a limit is answered with 429, whose `details.window` names it.',
  'One more workflow or schedule than the plan includes is answered with 403. After a downgrade what exists stays.',
  '',
  planTable(limits),
  '',
  '**Versioning.** Fields and operations are added without notice. Answers of a deprecated operation carry',
  '`X-API-Deprecated` for at least twelve months before it is removed.',
];

const authentication = [
  '## Authentication',
  '',
  'Send the key as `Authorization: Bearer <key>` or as `X-API-Key: <key>`. A key belongs to an organization and to an',
  'environment: `sk_test_…` uses the sandbox, `sk_live_…` real providers, and neither sees what the other made. A key that is',
  'missing, malformed, expired or revoked is answered with 401; `details.reason` is `missing_api_key`, `invalid_api_key` or',
  '`expired_api_key`.',
  '',
  'A key has scopes, all of them by default. A request whose scope it lacks is answered with 403, and `details.required`',
  'names the scope.',
  '',
];

const errors = [
  '## Errors',
  '',
  'A successful answer is `{"success": true, "data": …}`. A failure has a status from 400 on and this body:',
  '',
  '```json',
  JSON.stringify(
    {
      success: false,
      error: {
        code: 'validation_error',
        message: 'The request is invalid.',
        details: {
          errors: [{ path: 'steps.0.type', message: 'Expected one of prompt, condition, transform, action.' }],
        },
        requestId: '0199c2f0-7a54-7c39-9e3f-5d1b8b6c2a10',
      },
    },
    null,
    2,
  ),
  '```',
  '',
  '`code` is for programs and does not change; `message` is for people and may. `requestId` is also the header',
  '`X-Request-ID`: name it when you ask for support. Dialect B writes most codes in upper case, and answers 401, 403 and 429',
  'with `{"error": {"code", "message", "retryAfter"?}}`. Below `/api/chat`, `/api/agents` and `/api/voice` a failure is',
  '`{"success": false, "error": "…"}`, where `error` is a sentence and programs go by the status.',
  '',
  '## Paging',
  '',
  'Lists take `limit` (1 to 100) and `offset` and are sorted from the newest to the oldest. `pagination` of an answer is',
  '`{total, limit, offset, hasMore}`; in dialect B `total`, `limit` and `offset` stand beside the list of workflows, runs and',
  'bookings.',
  '',
  '## Rate limits',
  '',
  'Answers to requests with a key carry these headers. They describe the window, minute or UTC day, in which fewer requests',
  'are left.',
  '',
  '| header | meaning |',
  '|---|---|',
  '| `X-RateLimit-Limit` | Requests that the window has |',
  '| `X-RateLimit-Remaining` | Requests that are left in it |',
  '| `X-RateLimit-Reset` | When it ends, in Unix seconds |',
  '| `Retry-After` | With 429 and 503: seconds to wait before the next attempt |',
  '',
  'A request that was refused counts in no window.',
  '',
];

/** The scopes and the operations that need them, as a Markdown table. */
const scopeTable = (operationsByScope: ReadonlyMap<string, readonly string[]>): string[] => [
  '| scope | operations |',
  '|---|---|',
  ...[...operationsByScope].map(
    ([scope, names]) => `| \`${scope}\` | ${names.map((name) => `\`${name}\``).join(', ')} |`,
  ),
  '',
  'Every other operation with a key takes any key.',
  '',
];

const examplesText = (base: string, examples: readonly FeatureExample[]): string[] => [
  '## Examples',
  '',
  ...examples.flatMap(({ title, text, commands }) => [
    `**${title}.** ${text}`,
    '',
    '```sh',
    commands(commandsAt(base)).join('\n\n'),
    '```',
    '',
  ]),
];

/** The sources of the reference's text. */
interface ReferenceFacts {
  publicUrl: string;
  /** The ids of the operations that need a scope, by scope. */
  operationsByScope: ReadonlyMap<string, readonly string[]>;
  examples: readonly FeatureExample[];
  limits: readonly PlanLimit[];
}

/** The text of the reference before its operations, in Markdown. */
export const referenceText = ({ publicUrl, operationsByScope, examples, limits }: ReferenceFacts): string =>
  [
    `Durable workflows of AI steps behind a REST API. The [guides](${withoutSlash(publicUrl)}/docs/guides) explain each feature.`,
    '',
    ...quickStart(`${withoutSlash(publicUrl)}/api/v1`),
    '',
    ...authentication,
    ...scopeTable(operationsByScope),
    ...errors,
    ...examplesText(withoutSlash(publicUrl), examples),
    ...conventions(limits),
  ].join('\n');
