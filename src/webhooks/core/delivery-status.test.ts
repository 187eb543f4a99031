import { describe, expect, test } from '@jest/globals';
import {
  canBecome,
  type DeliveryStatus,
  deliveryStatuses,
  isOpen,
  isReplayable,
  statusesBefore,
} from './delivery-status.ts';

describe('a delivery', () => {
  test('ends delivered or failed, and those never change', () => {
    for (const end of ['delivered', 'failed'] as const) {
      expect(deliveryStatuses.filter((to) => canBecome(end, to))).toEqual([]);
    }
  });

  test('can end from everywhere else', () => {
    const reachable = (from: DeliveryStatus, seen = new Set([from])): Set<DeliveryStatus> => {
      for (const to of deliveryStatuses) if (canBecome(from, to) && !seen.has(to)) reachable(to, seen.add(to));
      return seen;
    };
    for (const from of ['pending', 'retrying', 'dead_lettered'] as const) {
      expect(reachable(from)).toContain('delivered');
      expect(reachable(from)).toContain('failed');
    }
  });

  test('begins anew from the dead letters alone', () => {
    expect(statusesBefore('pending')).toEqual(['dead_lettered']);
    expect(deliveryStatuses.filter(isReplayable)).toEqual(['dead_lettered']);
  });

  test('is delivered or dead-lettered from where attempts are still to come', () => {
    const open = deliveryStatuses.filter(isOpen);
    expect(open).toEqual(['pending', 'retrying']);
    expect(statusesBefore('delivered')).toEqual(open);
    expect(statusesBefore('dead_lettered')).toEqual(open);
    expect(statusesBefore('retrying')).toEqual(open);
    expect(statusesBefore('failed')).toEqual([...open, 'dead_lettered']);
  });
});
