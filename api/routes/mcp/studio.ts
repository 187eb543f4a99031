import type { CallToolResult } from '@modelcontextprotocol/server';
import { invalid } from '../../../src/platform/errors.ts';
import { problemsOf } from '../../../src/providers/core/media/requests.ts';
import { contentTypes, typeOf } from '../../../src/storage/core/file-types.ts';
import { imageRecord } from '../../../src/studio/generation-records.ts';
import type { GenerationDetail } from '../../../src/studio/generations.ts';
import { generateSchema, readImageRequest } from '../../schemas/studio/requests.ts';
import { makeAndWait } from '../studio/make-and-wait.ts';
import { linkItem, textItem } from './results.ts';
import { claimOf, defineTool } from './tool.ts';

function imageResult(image: GenerationDetail, sign: (file: string) => string): CallToolResult {
  const record = imageRecord(image, sign);
  const mimeType = contentTypes[typeOf(image.file!)];
  return {
    content: [
      linkItem({ uri: record.url, name: record.id, mimeType }, { isUntrusted: true }),
      textItem(JSON.stringify(record)),
    ],
    structuredContent: record,
  };
}

export const studioTools = [
  defineTool({
    name: 'generate_image',
    title: 'Generate an image',
    description:
      'Generates an image from a prompt and returns a link to it, which holds for a limited time. Costs credits; a failure costs nothing.',
    scope: 'studio',
    args: generateSchema,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    async perform(call, args) {
      const { services, scope, caller } = call;
      const request = readImageRequest(args);
      const problems = problemsOf(request, services.media.models);
      if (problems.length > 0) throw invalid(problems);
      const made = await makeAndWait(services, scope, { caller, request, imageUrl: null, idempotency: claimOf(call) });
      if (made.kind === 'failed') throw made.failure;
      if (made.kind === 'completed') return imageResult(made.generation, (file) => services.signedUrls.sign(file));
      const record = { id: made.id, status: 'processing' };
      const text = `The image ${made.id} is not ready yet. Read it later at GET /api/studio/generations/${made.id}.`;
      return { content: [textItem(text)], structuredContent: record };
    },
  }),
];
