import { planLimits } from '../../tenancy/core/plan-limits.ts';

export const voiceLimits = planLimits({
  /** Requests of each operation a minute, which count in the windows of all requests as well. */
  'operationsPerMinute.tts': {
    label: 'text to speech, requests per minute',
    position: 30,
    min: 1,
    plans: { free: 60, pro: 60, team: 60, enterprise: 60 },
  },
  'operationsPerMinute.stt': {
    label: 'speech to text, requests per minute',
    position: 40,
    min: 1,
    plans: { free: 30, pro: 30, team: 30, enterprise: 30 },
  },
  /** Maximum speeches and transcriptions under way, each of which occupies a worker. Further ones are refused. */
  openVoiceCalls: {
    label: 'voice calls under way',
    position: 170,
    window: { name: 'open_voice_calls', text: 'voice calls under way' },
    plans: { free: 5, pro: 25, team: 100, enterprise: 200 },
  },
});
