const probes = ['/api/health', '/api/ready'];

/** Whether this is a probe of a load balancer, which is neither logged nor traced. */
export const isProbe = (path: string): boolean => probes.includes(path);
