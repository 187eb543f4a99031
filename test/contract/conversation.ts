import type { ApiClient } from '../api-client.ts';
import type { Recorder } from './recorder.ts';

/** Messages to models and agents, with and without tools. They have no dialects. */
export async function recordConversation(recorder: Recorder, client: ApiClient): Promise<void> {
  const ask = async (path: string, body: object, headers?: Record<string, string>) => {
    const again = headers ? ' with an Idempotency-Key' : '';
    recorder.record(`POST ${path} ${JSON.stringify(body)}${again}`, await client.post(path, body, headers));
  };
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const key = { 'idempotency-key': 'contract' };
  await ask('/api/chat', { messages });
  const asked = { messages, model: 'gemini-1.5-pro' };
  await ask('/api/chat', asked, key);
  recorder.record('POST /api/chat replayed', await client.post('/api/chat', asked, key));
  recorder.record('POST /api/chat with the key of another body', await client.post('/api/chat', { messages }, key));
  await ask('/api/chat', { messages: [] });
  await ask('/api/chat', { messages, mcpServers: ['nothing'] });
  const calling = [{ role: 'user', content: 'sandbox:tool=memory_read_graph' }];
  await ask('/api/chat', { messages: calling, mcpServers: ['memory'] });
  await ask('/api/chat', { messages: [{ role: 'user', content: 'sandbox:refuse' }] });
  await ask('/api/agents/chat', { message: 'Say hello.', systemPrompt: 'You are terse.', temperature: 0.2 });
  await ask('/api/agents/chat', { systemPrompt: 'You are terse.' });
  await ask('/api/agents/chat', { message: 'Say hello.' });
}
