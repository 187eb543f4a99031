import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { interleave, type Side } from '../interleave.ts';
import type { Item } from '../item.ts';
import { timeAlone } from '../load.ts';

const toolName = 'bench_greet';
const calls = 25;

/** P37: what the MCP server costs on top of the run that a tool starts. */
export const assistantCalls: Item = {
  name: 'P37',
  title: 'a tool of a workflow that takes no time, called by the official MCP client, against execute, p50 alone',
  needs: 'stand',
  async run(stand, cleanup) {
    const { id } = await stand.client.post<{ id: string }>('/api/v1/workflows', {
      name: 'Greet',
      inputs: [{ name: 'who', type: 'string', required: true }],
      steps: [{ id: 'greet', type: 'transform', expression: '{"greeting": "Hello " + variables.who}' }],
      mcp: { enabled: true, name: toolName },
    });
    const variables = { who: 'Ada' };
    const execute = async () => {
      const { status } = await stand.client.post<{ status: string }>(`/api/v1/workflows/${id}/execute`, { variables });
      if (status !== 'COMPLETED') throw new Error(`A run ended as ${status}.`);
    };
    const assistant = new Client(
      { name: 'bench', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    const headers = { authorization: `Bearer ${stand.key}` };
    await assistant.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', stand.api), { requestInit: { headers } }),
    );
    cleanup.add(() => assistant.close());
    const call = async () => {
      const { isError, content } = await assistant.callTool({ name: toolName, arguments: variables });
      if (isError) throw new Error(`A call failed: ${JSON.stringify(content)}.`);
    };
    const side = (name: string, act: () => Promise<void>): Side => ({
      name,
      warmUp: () => timeAlone(act, { count: 2 * calls }),
      round: () => timeAlone(act, { count: calls }),
    });
    const measured = await interleave(stand.meter, 7, [side('execute', execute), side('a call of its tool', call)]);
    await assistant.close();
    const [ofExecute, ofCall] = measured.series;
    const more = ofCall!.values.map((value, round) => value - ofExecute!.values[round]!);
    return [
      {
        rows: measured.series.map(({ name, values, cpuMs }) => ({ name: `p50, ${name}`, unit: 'ms', values, cpuMs })),
        verdicts: [{ name: 'ms more for a call', values: more, aim: { atMost: 5 } }],
        otherCores: measured.otherCores,
      },
    ];
  },
};
