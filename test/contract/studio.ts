import type { Answer, ApiClient } from '../api-client.ts';
import type { Recorder } from './recorder.ts';

/** What is generated, how it is read again, and how a generation fails. Studio has no dialects. */
export async function recordStudio(recorder: Recorder, client: ApiClient): Promise<void> {
  const ask = async (method: string, path: string, body?: object, headers?: Record<string, string>) => {
    const of = body ? `${path} ${JSON.stringify(body)}` : path;
    const answer = await client.request(method, `/api/studio${path}`, body, headers);
    const again = headers ? ' with an Idempotency-Key' : '';
    recorder.record(
      `${method} studio${of.replace(/gen_[0-9a-f]{32}/, '{id}').replace(/vid_[0-9a-f]{32}/, '{videoId}')}${again}`,
      answer,
    );
    return answer;
  };
  const image = { prompt: 'A red bicycle', aspectRatio: '16:9', seed: 7 };
  const made = await ask('POST', '/generate', image);
  await ask('POST', '/generate-music', { prompt: 'A calm waltz', bpm: 90 });
  await ask('POST', '/generate', { prompt: 'sandbox:refuse' }, { 'idempotency-key': 'contract' });
  const { url } = made.body.data;
  const named = (path: string, answer: Answer) =>
    recorder.record(`POST studio${path} of an image that was generated`, answer);
  named('/upscale', await client.post('/api/studio/upscale', { imageUrl: url, scale: 2 }));
  named('/remove-bg', await client.post('/api/studio/remove-bg', { imageUrl: url }));
  await ask('POST', '/upscale', { imageUrl: 'http://10.0.0.1/a.png', scale: 3 });
  await ask('POST', '/remove-bg', { imageUrl: 'http://10.0.0.1/a.png' });
  await ask('POST', '/enhance-prompt', { prompt: 'A red bicycle', style: 'noir' });
  await ask('POST', '/enhance-prompt', { prompt: 'sandbox:refuse' });
  await ask('POST', '/generate', { prompt: ' ', model: 'ideogram-v2', seed: -1 });
  await ask('POST', '/generate', { prompt: 'wide', model: 'ideogram-v2', aspectRatio: '21:9' });
  await ask('GET', `/generations/${made.body.data.id}`);
  await ask('GET', '/generations/nonsense');
  const { id } = (await ask('POST', '/generate-video', { prompt: 'sandbox:slow=9000 Waves', duration: 5.5 })).body.data;
  await ask('POST', '/generate-video', { prompt: 'Waves', model: 'kling-1.5-pro', aspectRatio: '21:9', duration: 4 });
  await ask('GET', `/generate-video?id=${id}`);
  await ask('GET', `/generations/${id}`);
  await ask('POST', `/generate-video/${id}/cancel`);
  await ask('GET', '/generate-video');
  await ask('GET', '/generate-video?id=nonsense');
  await ask('GET', '/history');
  await ask('GET', '/history?type=speech');
  await ask('GET', '/models');
  await ask('DELETE', `/generations/${made.body.data.id}`);
}
