/** The dependencies of the service, in the order of responses. */
export const dependencies = ['database', 'cache', 'environment', 'temporal'] as const;
export type Dependency = (typeof dependencies)[number];

/** Dependencies without which no request can be answered. Only these fail a strict health check. */
const strictDependencies: readonly Dependency[] = ['database', 'environment'];

export type Findings = Record<Dependency, { ok: boolean }>;
export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy';

const all = (findings: Findings, of: readonly Dependency[]) => of.every((dependency) => findings[dependency].ok);

/** Whether this process should receive requests. */
export const isReady = (findings: Findings): boolean => all(findings, dependencies);

/** Only a strict check can report `unhealthy`: restarting a process does not repair its dependencies. */
export function healthStatus(findings: Findings, { strict }: { strict: boolean }): HealthStatus {
  if (strict && !all(findings, strictDependencies)) return 'unhealthy';
  return isReady(findings) ? 'healthy' : 'degraded';
}
