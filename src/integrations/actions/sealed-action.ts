import { sealedColumns } from '../../platform/security/sealed-columns.ts';

export const actionContents = sealedColumns<{ payload: unknown; answer: unknown }>('integration_action');
