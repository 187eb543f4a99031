import { describe, expect, test } from '@jest/globals';
import { type DeliveryStatus, deliveryStates, deliveryStatuses, isOpen, isReplayable } from './delivery-status.ts';

describe('a delivery', () => {
  test('ends delivered or failed', () => {
    expect(deliveryStates.terminal).toEqual(['delivered', 'failed']);
  });

  test('can reach both ends from every other state', () => {
    const reachable = (from: DeliveryStatus, seen = new Set([from])): Set<DeliveryStatus> => {
      for (const to of deliveryStates.after(from)) if (!seen.has(to)) reachable(to, seen.add(to));
      return seen;
    };
    for (const from of ['pending', 'retrying', 'dead_lettered'] as const) {
      expect(reachable(from)).toContain('delivered');
      expect(reachable(from)).toContain('failed');
    }
  });

  test('can be replayed when it is dead-lettered, and in no other state', () => {
    expect(deliveryStates.before('pending')).toEqual(['dead_lettered']);
    expect(deliveryStatuses.filter(isReplayable)).toEqual(['dead_lettered']);
  });

  test('is retried and dead-lettered while attempts are still to come', () => {
    const open = deliveryStatuses.filter(isOpen);
    expect(open).toEqual(['pending', 'retrying']);
    expect(deliveryStates.before('dead_lettered')).toEqual(open);
    expect(deliveryStates.before('retrying')).toEqual(open);
    expect(deliveryStates.before('failed')).toEqual([...open, 'dead_lettered']);
  });
});
