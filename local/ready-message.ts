import type { Stack } from './stack.ts';

type Ready = Pick<Stack, 'api' | 'temporal' | 'temporalUi' | 'organizationId' | 'testKey' | 'liveKey'>;

/** The line of `npm start -- --json`. `temporalUi` is null for an external Temporal server. */
export function readyJson(stack: Ready, pid: number): string {
  const { api, temporal, temporalUi = null, organizationId, testKey, liveKey } = stack;
  return JSON.stringify({ ready: true, pid, api, temporal, temporalUi, organizationId, testKey, liveKey });
}

/** The text printed when the stack is ready. */
export function readyText(stack: Ready): string {
  return `
Atelier is ready.

  API          ${stack.api}
  Temporal UI  ${stack.temporalUi ?? `(of the server at ${stack.temporal})`}
  Test key     ${stack.testKey}
  Live key     ${stack.liveKey}

Create a workflow and execute it:

${firstCurl(stack)}

Ctrl-C stops everything. Unfinished runs continue at the next start.
`;
}

/** One command for a POSIX shell with curl and sed. It creates a workflow, executes it and prints the completed run. */
export function firstCurl({ api, testKey }: Pick<Ready, 'api' | 'testKey'>): string {
  const workflow = {
    name: 'First workflow',
    steps: [{ id: 'greet', type: 'prompt', prompt: 'Greet {{input}} in one sentence.' }],
  };
  const post = `curl -sS -H 'Authorization: Bearer ${testKey}' -H 'Content-Type: application/json'`;
  const create = `${post} -d '${JSON.stringify(workflow)}' ${api}/api/v1/workflows`;
  const id = `sed -n 's/.*"id":"\\([0-9a-f-]\\{36\\}\\)".*/\\1/p'`;
  return `${post} -d '${JSON.stringify({ input: 'Ada' })}' "${api}/api/v1/workflows/$(${create} | ${id})/execute"`;
}
