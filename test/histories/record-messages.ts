import type { Database } from '../../src/platform/database/database.ts';
import { messageContract } from '../../src/temporal/contracts/conversation.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import type { ApiClient } from '../api-client.ts';
import { cancelUnderWay } from './cancel-under-way.ts';

const fourCalls = [
  'sandbox:tool=memory_create_entities {"entities":[]}',
  'sandbox:tool=memory_read_graph',
  'sandbox:tool=memory_search_nodes {"query":"x"}',
  'sandbox:tool=memory_read_graph',
];

/** Messages to models: with and without tools, retried, failed and cancelled by an operator. */
export async function recordMessages(
  api: ApiClient,
  { pool }: Database,
  cancel: (workflowId: string) => Promise<unknown>,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const newest = async () => {
    const { rows } = await pool.query('select id from conversation_message order by created_at desc, id desc limit 1');
    return jobWorkflowId(messageContract, rows[0].id);
  };
  const say = (content: string, mcpServers: string[] = []) =>
    api.post('/api/chat', { messages: [{ role: 'user', content }], mcpServers });
  const record = async (name: string, content: string, mcpServers?: string[]) => {
    await say(content, mcpServers);
    await keep(`takeTurn/${name}`, await newest());
  };
  await record('instant', 'Hello');
  await record('retried', 'sandbox:overloaded');
  await record('failed', 'sandbox:fail');
  await record('with-tools', fourCalls.join(' '), ['memory']);
  const underWay = async () => {
    const { rows } = await pool.query(`select id from conversation_message where status = 'processing'`);
    return rows[0] && jobWorkflowId(messageContract, rows[0].id);
  };
  await keep('takeTurn/cancelled', await cancelUnderWay(say('sandbox:slow=600 Hello'), underWay, cancel));
}
