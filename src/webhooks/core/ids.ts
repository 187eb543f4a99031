import { defineId } from '../../platform/core/ids.ts';

export const webhookIds = defineId('whk');
export const eventIds = defineId('evt');
export const deliveryIds = defineId('dlv');
export const recoveryIds = defineId('rcv');
