import { requestMessage } from '../../src/platform/observability/log-destination.ts';
import type { Services } from '../../src/services.ts';
import { type Caller, userIdOf } from '../../src/tenancy/caller.ts';
import type { ApiContext } from '../context.ts';
import { isProbe } from '../probes.ts';
import { routeTemplate } from '../requests/route-template.ts';

/** A request when its answer starts. */
export interface AnsweredRequest {
  requestId: string;
  correlationId: string;
  method: string;
  /** As the document writes it. */
  route: string;
  status: number;
  /** Since the request arrived. */
  ms: number;
  caller: Caller | undefined;
  /** The code of the failure of the run that the answer reports. */
  failedRun?: string | undefined;
}

/** Counts a request and logs one line about it. */
export function recordRequest({ log, metrics }: Pick<Services, 'log' | 'metrics'>, request: AnsweredRequest): void {
  const { requestId, correlationId, method, route, status, ms, caller, failedRun } = request;
  // A fault on our side stays a failure of the service.
  const isRunsFailure = failedRun !== undefined && failedRun !== 'internal_error';
  metrics.requestAnswered({ method, route, status, runFailed: isRunsFailure, seconds: ms / 1000 });
  const level = isProbe(route) && status < 400 ? 'debug' : 'info';
  if (!log.isLevelEnabled(level)) return;
  const userId = caller && userIdOf(caller);
  const line = {
    requestId,
    correlationId,
    method,
    route,
    status,
    ms: Math.round(ms * 10) / 10,
    ...(failedRun && { failedRun }),
    ...(caller && { organizationId: caller.organizationId, environment: caller.environment }),
    ...(caller?.keyId && { keyId: caller.keyId }),
    ...(userId !== undefined && { userId }),
  };
  log[level](line, requestMessage);
}

/** Records a request when its answer starts. */
export async function observed(
  services: Pick<Services, 'log' | 'metrics'>,
  c: ApiContext,
  next: () => Promise<void>,
): Promise<void> {
  const began = performance.now();
  await next();
  recordRequest(services, {
    requestId: c.get('requestId'),
    correlationId: c.get('correlationId'),
    method: c.req.method,
    route: routeTemplate(c),
    status: c.res.status,
    ms: performance.now() - began,
    caller: c.get('caller'),
    failedRun: c.get('failedRun'),
  });
}
