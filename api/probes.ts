const probes = ['/api/health', '/api/ready'];

/** Whether this is what load balancers ask all day: worth a line or a span to nobody. */
export const isProbe = (path: string): boolean => probes.includes(path);
