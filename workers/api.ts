import { startApiServer } from '../api/server.ts';
import type { RoleContext, RunningRole } from './running-role.ts';

export const startApi = ({ services }: RoleContext): Promise<RunningRole> => startApiServer(services);
