import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { readJson } from '../../../src/platform/core/bounded-json.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { ReportSignature } from '../../../src/providers/media/live/fal-reports.ts';
import { upstreamIdPattern } from '../../../src/providers/media/live/media-host.ts';
import type { Services } from '../../../src/services.ts';
import { generationIds, videoIds } from '../../../src/studio/core/ids.ts';
import { providerReported } from '../../../src/studio/provider-report.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { withUnprovenBody } from '../../requests/unproven-body.ts';
import { receiveOperation } from '../../schemas/inbound.ts';

/** A report has addresses of files in it, and never a file. */
const maxBytes = 1024 * 1024;

/** fal's id of the job: that of the body, which is signed as the header is. */
function jobOf(body: Buffer, { requestId }: ReportSignature): string {
  const report = readJson(body, maxBytes) as { request_id?: unknown } | null | undefined;
  const id = report?.request_id;
  return typeof id === 'string' && upstreamIdPattern.test(id) ? id : requestId;
}

const reportOperation = receiveOperation(
  '/fal/{id}',
  'receiveFalReport',
  {
    summary: 'Receive the result of a fal job',
    description:
      'fal signs its reports with its own key. A report only causes a request to fal, so a generation that has ended or does not exist is answered like any other.',
  },
  {
    params: z.object({ id: z.string().openapi({ param: { name: 'id', in: 'path' }, description: 'A generation.' }) }),
    body: {
      schema: z.object({ request_id: z.string(), status: z.string() }),
      example: { request_id: '764cabcf-b745-4b3e-ae38-1200304cf45b', status: 'OK' },
    },
  },
);

/**
 * The reports of fal about jobs. They have no key: a signature over the body, made with fal's key, proves the sender. A
 * report only causes a request to fal, so a generation that has ended or does not exist is answered like any other.
 */
export function providerReportRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { falReports, addressLimits, log } = services;

  const refuse = (c: ApiContext): never => {
    addressLimits.take('unproven', limitedRange(c.get('clientAddress')()));
    throw new AppError('unauthorized', 'The report is not signed by fal, or too old.');
  };

  const routes = newRoutes();
  routes.openAPIRegistry.registerPath(reportOperation);
  routes.post('/fal/:id', async (c) => {
    const signature = falReports?.readSignature((name) => c.req.header(name));
    // A body that cannot be genuine is not read.
    if (!falReports || !signature) return refuse(c);
    const body = await withUnprovenBody(c, maxBytes, async (read) => {
      const isGenuine = await falReports.isGenuine(signature, read).catch((error) => {
        log.error({ err: error }, 'a report of fal could not be checked');
        throw new AppError('service_unavailable', 'The report cannot be checked at the moment.', undefined, {
          retryAfter: 60,
        });
      });
      return isGenuine ? read : refuse(c);
    });
    const id = c.req.param('id');
    const generationId = generationIds.parse(id) ?? videoIds.parse(id);
    if (generationId) await providerReported(services, generationId, jobOf(body, signature));
    return c.json({ received: true }, 200);
  });
  return routes;
}
