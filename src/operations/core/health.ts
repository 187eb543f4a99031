/** The dependencies of the service, in the order of responses. */
export const dependencies = ['database', 'cache', 'environment', 'temporal', 'storage'] as const;
export type Dependency = (typeof dependencies)[number];

/** Dependencies without which no request can be answered. Only these fail a strict health check. */
const strictDependencies: readonly Dependency[] = ['database', 'environment'];

/**
 * The dependencies that decide whether a process receives requests. A folder of files is not among them: without it
 * everything except files works, and another process would have the same folder.
 */
export const decisiveDependencies = (driver: 'local' | 's3'): readonly Dependency[] =>
  dependencies.filter((name) => name !== 'storage' || driver === 's3');

export type Findings = Partial<Record<Dependency, { ok: boolean }>>;
export type HealthStatus = 'healthy' | 'degraded' | 'unhealthy';

const all = (findings: Findings, of: readonly Dependency[]) =>
  of.every((dependency) => findings[dependency]?.ok ?? true);

/** Whether this process should receive requests. @param findings of the dependencies that decide it */
export const isReady = (findings: Findings): boolean => all(findings, dependencies);

/** Only a strict check can report `unhealthy`: restarting a process does not repair its dependencies. */
export function healthStatus(findings: Findings, { strict }: { strict: boolean }): HealthStatus {
  if (strict && !all(findings, strictDependencies)) return 'unhealthy';
  return isReady(findings) ? 'healthy' : 'degraded';
}
