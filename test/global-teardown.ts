import { endServersProcess } from './servers-process.ts';

export default (): Promise<void> => endServersProcess();
