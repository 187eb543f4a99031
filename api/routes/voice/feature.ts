import type { Envelope } from '../../envelopes.ts';
import type { ApiFeature } from '../../mount.ts';
import { voiceEnvelope } from './envelope.ts';
import { speechRoutes } from './speech.ts';
import { transcriptionRoutes } from './transcription.ts';

export const voice: ApiFeature & { envelope: Envelope } = {
  envelope: voiceEnvelope,
  tags: [{ name: 'Voice', description: 'Turn text into speech, and transcribe recordings.' }],
  example: {
    title: 'Voice',
    text: 'Turn a text into an MP3 file, and transcribe it.',
    commands: ({ send, upload }) => [
      `${send('/api/voice/tts', '{"text": "Your order has arrived.", "voice": "nova"}')} -o order.mp3`,
      upload('/api/voice/stt', 'audio=@order.mp3'),
    ],
  },
  ids: [],
  routes: (services) => [speechRoutes(services), transcriptionRoutes(services)],
};
