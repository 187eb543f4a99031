import { defineStates } from '../../platform/core/states.ts';

export const effectStates = defineStates(
  { table: 'booking_effect', column: 'status' },
  {
    pending: {
      meaning: 'Its time has not come, or it is under way.',
      initial: true,
      to: ['retrying', 'succeeded', 'failed', 'skipped'],
    },
    retrying: {
      meaning: 'It failed, and is tried again.',
      to: ['pending', 'succeeded', 'failed', 'skipped'],
    },
    // A calendar that is connected again makes its entries due again.
    succeeded: { meaning: 'It is done.', to: ['pending'] },
    failed: {
      meaning: 'It failed, and is tried again only when an operator asks for it.',
      to: ['pending', 'retrying', 'succeeded'],
    },
    skipped: { meaning: 'There was nothing to do, or the booking was changed before.', to: ['pending'] },
  },
);

export const effectStatuses = effectStates.all;
export type EffectStatus = (typeof effectStatuses)[number];

/** Effects that are still to be done, in SQL. */
export const openEffect = effectStates.sql('pending', 'retrying');
