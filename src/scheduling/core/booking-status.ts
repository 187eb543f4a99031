import { defineStates } from '../../platform/core/states.ts';

export const bookingStates = defineStates(
  { table: 'booking', column: 'status' },
  {
    confirmed: { meaning: 'The time is taken.', initial: true, to: ['cancelled'] },
    cancelled: { meaning: 'It was cancelled, and its time is free again.', to: [] },
  },
);

export const bookingStatuses = bookingStates.all;
export type BookingStatus = (typeof bookingStatuses)[number];

/** The values that the filter of the list accepts. No booking has the others: they are reserved. */
export const listedStatuses = [...bookingStatuses, 'pending', 'rejected', 'completed', 'no_show'] as const;
export type ListedStatus = (typeof listedStatuses)[number];

/** Bookings that occupy their time, in SQL. */
export const holding = bookingStates.sql('confirmed');
