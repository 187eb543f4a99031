import type { Database } from '../../src/platform/database/database.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { voiceContract } from '../../src/temporal/contracts/voice.ts';
import type { ApiClient } from '../api-client.ts';
import { cancelUnderWay } from './cancel-under-way.ts';

/** Texts that are spoken: at once, retried, failed and cancelled by an operator. */
export async function recordVoice(
  api: ApiClient,
  { pool }: Database,
  cancel: (workflowId: string) => Promise<unknown>,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const newest = async () => {
    const { rows } = await pool.query('select id from voice_call order by created_at desc, id desc limit 1');
    return jobWorkflowId(voiceContract, rows[0].id);
  };
  const speak = (text: string) => api.post('/api/voice/tts', { text });
  const record = async (name: string, text: string) => {
    await speak(text);
    await keep(`performVoiceCall/${name}`, await newest());
  };
  await record('speech', 'Hello.');
  await record('retried', 'sandbox:overloaded');
  await record('failed', 'sandbox:fail');
  const underWay = async () => {
    const { rows } = await pool.query(`select id from voice_call where status = 'processing'`);
    return rows[0] && jobWorkflowId(voiceContract, rows[0].id);
  };
  await keep('performVoiceCall/cancelled', await cancelUnderWay(speak('sandbox:slow=600 Hello.'), underWay, cancel));
}
