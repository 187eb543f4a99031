import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import { invalid, unavailable } from '../../../../src/platform/errors.ts';
import { defaultModels } from '../../../../src/providers/core/media/models.ts';
import { problemsOf, requestLimits } from '../../../../src/providers/core/media/requests.ts';
import type { Services } from '../../../../src/services.ts';
import type { FileRecord } from '../../../../src/storage/ports.ts';
import { AnswerSlots } from '../../../answer-slots.ts';
import { notReady } from '../../../await-job.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { keysAlone } from '../../../middleware/keys-alone.ts';
import { newRoutes } from '../../../new-routes.ts';
import { limitedRange } from '../../../requests/client-address.ts';
import { readImageRequest } from '../../../schemas/studio/requests.ts';
import { filledText } from '../../../schemas/text.ts';
import { makeAndWait } from '../../studio/make-and-wait.ts';
import { readBody } from '../read-body.ts';
import { bookkeeping } from '../shared-fields.ts';

/** The sizes of our images, and the ratio that makes each. */
const ratios = {
  auto: '1:1',
  '1024x1024': '1:1',
  '1024x576': '16:9',
  '576x1024': '9:16',
  '1024x768': '4:3',
  '1152x768': '3:2',
  '1344x576': '21:9',
} as const;
type Size = keyof typeof ratios;

const qualities = { auto: 'standard', standard: 'standard', high: 'high' } as const;
type Quality = keyof typeof qualities;

const schema = z.strictObject({
  prompt: filledText(requestLimits.promptCharacters),
  model: z.string().max(200).nullish(),
  n: z.literal(1).nullish(),
  size: z.enum(Object.keys(ratios) as Size[]).nullish(),
  quality: z.enum(Object.keys(qualities) as Quality[]).nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  user: bookkeeping.user,
});

/** The name under which each of our fields is known here. */
const names: Record<string, string> = { aspectRatio: 'size' };

/** A larger file is answered with its address alone: an inline file is in memory as bytes, as base64 and as JSON. */
const maxInlineBytes = 16 * 1024 * 1024;
/** The slots of an organization: its requests can be repeated at no cost. */
const inlineSlots = new AnswerSlots(2, 100);

/** The whole of a file. It is read as a download, so that the number of files in memory is limited. */
async function bytesOf(c: ApiContext, { downloads }: Services, file: FileRecord): Promise<Buffer> {
  const { outgoing } = c.env;
  const address = limitedRange(c.get('clientAddress')());
  const download = await downloads.open(file, undefined, { address, abort: () => outgoing.destroy() });
  if (!download) throw unavailable('The file storage');
  try {
    return Buffer.from(await new Response(download.body).arrayBuffer());
  } finally {
    download.close();
  }
}

async function inlineImage(c: ApiContext, services: Services, name: string): Promise<string> {
  const file = await services.files.find(name);
  if (!file) throw resourceDeleted();
  if (file.bytes > maxInlineBytes) {
    // It was made and paid for.
    const url = services.signedUrls.sign(name);
    const message = `The image has more than 16 MiB. Ask for \`url\` in place of \`b64_json\`. It is at ${url}`;
    throw invalid([{ path: 'response_format', message }], message);
  }
  return inlineSlots.read(c.get('scope').tenantKey, c.env.outgoing, async () =>
    (await bytesOf(c, services, file)).toString('base64'),
  );
}

async function imageOf(c: ApiContext, services: Services, name: string, isInline: boolean): Promise<object> {
  if (!isInline) return { url: services.signedUrls.sign(name) };
  return { b64_json: await inlineImage(c, services, name) };
}

export function imageRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  routes.post('/images/generations', keysAlone, requireKey(services, 'studio'), jsonBody(), async (c) => {
    const { prompt, model, size, quality, response_format: format } = readBody(c, schema);
    const request = readImageRequest({
      prompt,
      model: model ?? defaultModels.image,
      aspectRatio: ratios[size ?? 'auto'],
      quality: qualities[quality ?? 'auto'],
    });
    const problems = problemsOf(request, services.media.models);
    if (problems.length > 0)
      throw invalid(problems.map(({ path, message }) => ({ path: names[path] ?? path, message })));
    const idempotency = readIdempotency(c);
    const call = { caller: c.get('caller'), request, imageUrl: null, idempotency };
    const made = await makeAndWait(services, c.get('scope'), call);
    markReplayed(c, made.replayed);
    if (made.kind === 'failed') throw made.failure;
    if (made.kind === 'unfinished') throw notReady('answer');
    const { generation } = made;
    c.header('X-Credits-Used', String(generation.credits));
    const image = await imageOf(c, services, generation.file!, format === 'b64_json');
    return c.json({ created: Math.floor(generation.createdAt.getTime() / 1000), data: [image] });
  });
  return routes;
}
