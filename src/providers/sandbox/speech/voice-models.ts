import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { BoundedWork } from '../../../platform/bounded-work/bounded-work.ts';
import { WorkTooCostly } from '../../../platform/bounded-work/task.ts';
import type { TenantKey } from '../../../platform/security/tenant-key.ts';
import { openWorkFolder } from '../../../platform/work-folder.ts';
import { readSandboxWords } from '../../core/sandbox-words.ts';
import { examineAudio } from '../../speech/audio/audio-examination.ts';
import type { MadeSpeech, SpeechModel, SpeechRequest, TranscriptionModel } from '../../speech/voice-ports.ts';
import { pauseAsRequested, requestedFailure } from '../requested.ts';
import { tooCostly } from '../too-costly.ts';
import { sayText } from './saying.ts';

/** The name that `sandbox:fail@<model>` has to give. */
const modelName = 'speech';

/** How long a text may wait for a slot. */
const waitMs = 60_000;

async function say(work: BoundedWork, tenantKey: TenantKey, request: SpeechRequest): Promise<MadeSpeech> {
  const { path: folder, discard } = await openWorkFolder();
  try {
    const path = join(folder, 'speech.mp3');
    const { seconds } = await work.run(sayText, tenantKey, { ...request, output: path }, { waitMs });
    return { path, seconds, discard };
  } catch (error) {
    await discard();
    throw error instanceof WorkTooCostly ? tooCostly('The sandbox gave up the request.', error) : error;
  }
}

/** Speech without a provider. Equal requests have equal files. Words in the text count as they do in prompts. */
export const sandboxSpeechModel = (work: BoundedWork): SpeechModel => ({
  async speak(request, { tenantKey, attempt, signal }) {
    signal.throwIfAborted();
    const words = readSandboxWords(request.text, modelName);
    await pauseAsRequested(words, { signal });
    const failure = requestedFailure(words, modelName, attempt);
    if (failure) throw failure;
    return say(work, tenantKey, request);
  },
});

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex').slice(0, 8);
}

/** Transcriptions without a provider: the text of the sandbox's own speech, which its files contain. */
export const sandboxTranscriptionModel = (work: BoundedWork): TranscriptionModel => ({
  async transcribe({ path, seconds, language = 'en' }, { tenantKey, signal }) {
    signal.throwIfAborted();
    const examined = await work.run(examineAudio, tenantKey, { path }, { waitMs }).catch((error) => {
      throw error instanceof WorkTooCostly ? tooCostly('The sandbox gave up the request.', error) : error;
    });
    const other = async () => `Sandbox transcription of ${seconds} seconds of audio (sha256 ${await digestOf(path)})`;
    return { text: examined?.transcript ?? (await other()), language };
  },
});
