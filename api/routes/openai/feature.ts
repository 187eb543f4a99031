import type { Envelope } from '../../envelopes.ts';
import type { ApiFeature } from '../../mount.ts';
import { workflowModels } from './automation/run-workflow.ts';
import { chatCompletionRoutes } from './conversation/chat-completions.ts';
import { responseRoutes } from './conversation/responses.ts';
import { openaiEnvelope } from './envelope.ts';
import { modelRoutes } from './models.ts';
import { imageRoutes } from './studio/images.ts';
import { speechRoutes } from './voice/speech.ts';
import { transcriptionRoutes } from './voice/transcriptions.ts';

/** What programs that speak OpenAI's API are served. OpenAI's reference describes it, so ours does not name it. */
export const openai: ApiFeature & { envelope: Envelope } = {
  envelope: openaiEnvelope,
  tags: [],
  overview: { title: 'OpenAI-compatible API', text: 'Programs that speak it need a base URL and a key' },
  ids: [],
  routes: (services) => [
    modelRoutes(services),
    chatCompletionRoutes(services, workflowModels),
    responseRoutes(services, workflowModels),
    imageRoutes(services),
    speechRoutes(services),
    transcriptionRoutes(services),
  ],
};
