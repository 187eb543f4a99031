import { localOwner } from '../src/accounts/local-owner.ts';
import type { Stack } from './stack.ts';

type Ready = Pick<Stack, 'api' | 'temporal' | 'temporalUi' | 'signInLink' | 'organizationId' | 'testKey' | 'liveKey'>;

/**
 * The line of `npm start -- --json`. `temporalUi` is null for an external Temporal server, and `signInLink` once an owner has
 * signed in.
 */
export function readyJson(stack: Ready, pid: number): string {
  const { api, temporal, temporalUi = null, signInLink = null, organizationId, testKey, liveKey } = stack;
  const reached = { ready: true, pid, api, temporal, temporalUi };
  return JSON.stringify({ ...reached, organizationId, testKey, liveKey, signInLink });
}

/** The link works once, and people often follow it late. A signed-in person needs none. */
const consoleOf = ({ api, signInLink: link }: Pick<Ready, 'api' | 'signInLink'>): string =>
  link === undefined
    ? `  Console       ${api}/app\n`
    : `  Sign in       ${link}
                (once, for 15 minutes; then npm run cli -- user link --email ${localOwner.email})
`;

/** The text printed when the stack is ready. */
export function readyText(stack: Ready): string {
  return `
Atelier is ready.

  API           ${stack.api}
  Reference     ${stack.api}/docs
  Guides        ${stack.api}/docs/guides
${consoleOf(stack)}  Temporal UI   ${stack.temporalUi ?? `(of the server at ${stack.temporal})`}
  Organization  ${stack.organizationId}
  Test key      ${stack.testKey}
  Live key      ${stack.liveKey}

Create a workflow and execute it. The second command returns its id: put it in place of WORKFLOW_ID.

${firstCommands(stack).join('\n\n')}

Ctrl-C stops everything. Unfinished runs continue at the next start.
`;
}

/** For a POSIX shell with curl: sets the key, creates a workflow, executes it. The README has the same. */
function firstCommands({ api, testKey }: Pick<Ready, 'api' | 'testKey'>): string[] {
  const post = (path: string, body: string) =>
    `curl ${api}/api/v1/${path} -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\\n  -d '${body}'`;
  const steps = '[{"id": "greet", "type": "prompt", "prompt": "Greet {{input}}."}]';
  return [
    `export KEY=${testKey}`,
    post('workflows', `{"name": "First workflow", "steps": ${steps}}`),
    post('workflows/WORKFLOW_ID/execute', '{"input": "Ada"}'),
  ];
}
