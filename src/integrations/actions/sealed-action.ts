import { sealedColumns } from '../../platform/sealed-columns.ts';

export const actionContents = sealedColumns<{ payload: unknown; answer: unknown }>('integration_action');
