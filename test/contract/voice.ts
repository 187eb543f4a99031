import type { ApiClient } from '../api-client.ts';
import { formOf, silence, voiceClient } from '../voice/voice.ts';
import type { Recorder } from './recorder.ts';

/** Speech and transcriptions. They have no dialects. */
export async function recordVoice(recorder: Recorder, client: ApiClient, api: string, key: string): Promise<void> {
  const speak = async (body: object, headers?: Record<string, string>) => {
    const again = headers ? ' with an Idempotency-Key' : '';
    const { status, headers: answered, body: said } = await client.post('/api/voice/tts', body, headers);
    const recorded = typeof said === 'string' ? '<sound>' : said;
    recorder.record(`POST /api/voice/tts ${JSON.stringify(body)}${again}`, {
      status,
      headers: answered,
      body: recorded,
    });
  };
  await speak({ text: 'Hello.' });
  await speak({ text: 'Hello.', voice: 'nova', speed: 2 }, { 'idempotency-key': 'contract' });
  for (const body of [{ text: '' }, { text: 'Hello.', voice: 'nobody' }, { text: 'Hello.', speed: 5 }])
    await speak(body);
  await speak({ text: 'sandbox:fail' });
  const transcribe = async (what: string, form: FormData) => {
    const response = await voiceClient(api, key).transcribe(form);
    const { status, headers } = response;
    recorder.record(`POST /api/voice/stt ${what}`, { status, headers, body: await response.json() });
  };
  await transcribe('of silence', formOf(silence(1), { language: 'de' }));
  await transcribe('without a file', new FormData());
  await transcribe('of a text', formOf(Buffer.from('Hello, world.')));
}
