import { expect, test } from '@jest/globals';
import { findTimezone } from './timezone.ts';

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['europe/berlin', 'Europe/Berlin'],
  ['UTC', 'UTC'],
  ['Europe/Kyiv', 'Europe/Kiev'],
  ['Asia/Kolkata', 'Asia/Calcutta'],
  ['America/Argentina/Buenos_Aires', 'America/Buenos_Aires'],
  ['US/Eastern', 'America/New_York'],
  ['Mars/Olympus', undefined],
  ['+02:00', undefined],
  ['UTC+2', undefined],
  ['', undefined],
])('the zone %p is %p', (name, zone) => expect(findTimezone(name)).toBe(zone));
