import { z } from '@hono/zod-openapi';
import { invalid } from '../../../src/platform/errors.ts';
import { contentTypes } from '../../../src/storage/core/file-types.ts';
import type { PlanLimit } from '../../../src/tenancy/core/plan-limits.ts';
import type { OpenRequest } from '../../../src/tenancy/open-requests.ts';
import { subjectOf } from '../../../src/tenancy/rate-limiter.ts';
import { voiceLimits } from '../../../src/voice/core/limits.ts';
import { transcribeFrom } from '../../../src/voice/fetch-recording.ts';
import { requireVoice } from '../../../src/voice/require-voice.ts';
import { transcriptionRecord } from '../../../src/voice/sealed-call.ts';
import { checkSpeech, readSpeech } from '../../../src/voice/speech-request.ts';
import { problemsOfTranscription, readTranscription } from '../../../src/voice/transcription-request.ts';
import { tooManyRequests } from '../../middleware/authenticate.ts';
import { speechSchema } from '../../schemas/voice/speech.ts';
import { awaitCall } from '../voice/await-call.ts';
import { speakAndWait } from '../voice/speech.ts';
import { jsonResult, linkItem, textItem } from './results.ts';
import { claimOf, defineTool, type ToolCall } from './tool.ts';

/** Counts a call in the window of its operation; its request was counted before. @throws AppError rate_limit_exceeded */
async function limitOperation({ services, scope, caller }: ToolCall, operation: PlanLimit): Promise<void> {
  const window = { name: operation.name, perMinute: operation.of(caller.plan) };
  const decision = await services.limiter.takeOfOperation(subjectOf(scope.tenant), window);
  if (!decision.allowed) throw tooManyRequests(decision);
}

/** Does work that a client waits for, which counts as one of its waiting requests. */
async function whileOpen<Result>(
  { services, caller }: ToolCall,
  work: (open: OpenRequest) => Promise<Result>,
): Promise<Result> {
  const open = await services.openRequests.open(caller, 'waitingRequests');
  try {
    return await work(open);
  } finally {
    open.close();
  }
}

const transcribeArgs = z.object({
  url: z.string().openapi({
    maxLength: 2_048,
    description: 'Where the recording is: a public address, or a signed address of a file of ours.',
  }),
  language: z.string().optional().openapi({ description: 'A code of ISO 639-1. Detected if it is absent.' }),
});

export const voiceTools = [
  defineTool({
    name: 'speak',
    title: 'Turn text into speech',
    description:
      'Speaks a text and returns a link to the MP3 file, which holds for a limited time. Costs 1 credit for each started 1,000 characters.',
    scope: 'voice',
    args: speechSchema,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    async perform(call, args) {
      const { services, scope, caller } = call;
      await limitOperation(call, voiceLimits['operationsPerMinute.tts']);
      checkSpeech(args);
      return whileOpen(call, async (open) => {
        const asked = { request: readSpeech(args), plan: caller.plan, idempotency: claimOf(call), open };
        const { file, price, failure } = await speakAndWait(services, scope, asked);
        if (failure) throw failure;
        const record = { url: services.signedUrls.sign(file!), creditsUsed: price };
        const link = { uri: record.url, name: 'speech.mp3', mimeType: contentTypes.mp3 };
        return {
          content: [linkItem(link, { isUntrusted: true }), textItem(JSON.stringify(record))],
          structuredContent: record,
        };
      });
    },
  }),
  defineTool({
    name: 'transcribe',
    title: 'Transcribe a recording',
    description:
      'Transcribes a recording of at most 25 MB and 30 minutes: MP3, MP4, M4A, WAV, WebM or MPEG audio. Costs 2 credits for each started minute.',
    scope: 'voice',
    args: transcribeArgs,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    async perform(call, args) {
      const { services, scope, caller } = call;
      await limitOperation(call, voiceLimits['operationsPerMinute.stt']);
      const problems = problemsOfTranscription(args);
      if (problems.length > 0) throw invalid(problems);
      requireVoice(services, scope);
      return whileOpen(call, async (open) => {
        const created = await transcribeFrom(services, scope, readTranscription(args), {
          plan: caller.plan,
          idempotency: claimOf(call),
          signal: AbortSignal.any([call.signal, open.signal]),
          waiter: services.voiceWaiters.channel,
        });
        const { transcript, failure } = await awaitCall(services, scope, open, created);
        if (failure) throw failure;
        return jsonResult(transcriptionRecord(transcript!), { isUntrusted: true });
      });
    },
  }),
];
