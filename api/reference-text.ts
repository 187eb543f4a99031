import { withoutSlash } from '../src/platform/core/base-url.ts';
import { planTable } from './plan-table.ts';

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

const conventions = () => [
  '## Conventions',
  '',
  '**Paths.** Every path below `/api/v1` is also served below `/v1`, with the same operation. This document lists each',
  'operation once.',
  '',
  '**Dialects.** Operations below `/api/v1` accept requests in two dialects, A and B. An answer is in the dialect chosen',
  'by, in this order: the header `X-API-Variant`; a `wf_` or `run_` id in the path; the body of an execute request',
  '(`inputs` is B, `input` or `variables` A); the setting of the API key. Errors follow the same order, as far as the',
  'request was read when it was refused. Where answers differ, the names of their schemas end in A or B, and their',
  'descriptions name a member that tells one from the other.',
  '',
  '**Sandbox.** Test keys never reach a provider: the sandbox answers. Words in a prompt make it fail: `sandbox:fail`;',
  '`sandbox:fail@<model>` (this model only, so that fallbacks are used); `sandbox:overloaded` (until the third attempt);',
  '`sandbox:refuse` (`content_refused`); `sandbox:timeout`. `sandbox:slow=<seconds>` makes it answer late. In the last',
  'message to a model or agent `sandbox:tool=<server>_<function> {"argument": 1}` calls a tool that is offered.',
  '',
  '**Failures.** They are `{success: false, error: {code, message, details?, requestId}}`; below `/api/chat` and',
  '`/api/agents` nothing but `{success: false, error}`, where `error` is a sentence and the status tells programs.',
  '',
  '**Retries.** Send an `Idempotency-Key` to retry a POST safely. 429 and 503 answers carry `Retry-After`, except',
  '`provider_not_configured` and `/api/ready`, where waiting alone does not help.',
  '',
  '**Requests.** Bodies are JSON in UTF-8, at most 1 MiB and 64 levels deep, without `Content-Encoding`. No text in them',
  'contains the character NUL or half of a surrogate pair, and no number is beyond the range of a double. An unknown path',
  'is answered with 404 `not_found`, and a method that a path does not support with 405 `method_not_allowed` and `Allow`.',
  'HEAD is answered like GET, without a body. A request that is not valid HTTP is answered with 400, 408 or 431, and the',
  'connection is closed. A malformed id, or the id of a resource of another organization, is answered like an unknown id.',
  'Prefixed ids are read in upper and lower case.',
  '',
  '**Limits.** They depend on the plan and apply to test and live keys separately; an operator can change the limits on',
  'requests for an organization. A request over a limit is answered with 429, whose `details.window` names it.',
  'One more workflow or schedule than the plan includes is answered with 403. After a downgrade what exists stays.',
  '',
  planTable(),
  '',
  '**Versioning.** Fields and operations are added without notice. Answers of a deprecated operation carry',
  '`X-API-Deprecated` for at least twelve months before it is removed.',
];

/** What the reference says before its operations, in Markdown. */
export const referenceText = (publicUrl: string): string =>
  [
    'Durable workflows of AI steps behind a REST API.',
    '',
    ...quickStart(`${withoutSlash(publicUrl)}/api/v1`),
    '',
    ...conventions(),
  ].join('\n');
