import { usualMethods } from '../../src/platform/observability/metrics.ts';
import type { Tracing } from '../../src/platform/observability/telemetry.ts';
import type { ApiContext } from '../context.ts';
import { isProbe } from '../probes.ts';
import { routeTemplate, unmatched } from '../requests/route-template.ts';

/** Records a request as a span, in the caller's trace if it sent one. Spans contain routes, ids and statuses, never content. */
export async function traced(tracing: Tracing, c: ApiContext, next: () => Promise<void>): Promise<void> {
  if (isProbe(c.req.path)) return next();
  const method = usualMethods.has(c.req.method) ? c.req.method : '_OTHER';
  const attributes = {
    'http.request.method': method,
    'atelier.request_id': c.get('requestId'),
    'atelier.correlation_id': c.get('correlationId'),
  };
  const parent = c.req.header('traceparent');
  await tracing.inSpan(method, { kind: 'server', parent, attributes }, async (span) => {
    await next();
    const route = routeTemplate(c);
    const { status } = c.res;
    const caller = c.get('caller');
    if (route !== unmatched) {
      span.rename(`${method} ${route}`);
      span.set({ 'http.route': route });
    }
    span.set({
      'http.response.status_code': status,
      'atelier.organization_id': caller?.organizationId,
      'atelier.environment': caller?.environment,
    });
    if (status >= 500) span.fail(String(status));
  });
}
