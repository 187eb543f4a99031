/** What the service needs. The order is that of answers. */
export const dependencies = ['database', 'cache', 'environment', 'temporal'] as const;
export type Dependency = (typeof dependencies)[number];

/** What a request cannot be answered without: a strict look at health fails with these alone. */
const strictDependencies: readonly Dependency[] = ['database', 'environment'];

export type Findings = Record<Dependency, { ok: boolean }>;
export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy';

const all = (findings: Findings, of: readonly Dependency[]) => of.every((dependency) => findings[dependency].ok);

/** Whether requests should be sent here. */
export const isReady = (findings: Findings): boolean => all(findings, dependencies);

/**
 * A process that runs is alive, whatever it depends on does: only a strict look can find it unhealthy. Restarting it
 * would not bring its database back.
 */
export function healthStatus(findings: Findings, { strict }: { strict: boolean }): HealthStatus {
  if (strict && !all(findings, strictDependencies)) return 'unhealthy';
  return isReady(findings) ? 'healthy' : 'degraded';
}
