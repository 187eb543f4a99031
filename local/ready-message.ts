import type { Stack } from './stack.ts';

type Ready = Pick<Stack, 'api' | 'temporal' | 'temporalUi' | 'organizationId' | 'testKey' | 'liveKey'>;

/** The one line of `npm start -- --json`; `temporalUi` is null when the Temporal server is not ours. */
export function readyJson(stack: Ready, pid: number): string {
  const { api, temporal, temporalUi = null, organizationId, testKey, liveKey } = stack;
  return JSON.stringify({ ready: true, pid, api, temporal, temporalUi, organizationId, testKey, liveKey });
}

/** What a person sees when everything runs. */
export function readyText(stack: Ready): string {
  return `
Atelier is ready.

  API          ${stack.api}
  Temporal UI  ${stack.temporalUi ?? `(of the server at ${stack.temporal})`}
  Test key     ${stack.testKey}
  Live key     ${stack.liveKey}

Create a workflow and execute it:

${firstCurl(stack)}

Ctrl-C stops everything; what runs is kept and goes on at the next start.
`;
}

/** One command for any POSIX shell with curl and sed: creates a workflow, executes it, prints the COMPLETED run. */
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
