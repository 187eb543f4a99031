import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { soundFile } from '../../../../test/fakes/media-files.ts';
import { readWav } from './wav.ts';

interface Form {
  tag?: number;
  channels?: number;
  sampleRate?: number;
  bits?: number;
}

/** A chunk of RIFF, padded to an even length. */
function chunk(type: string, content: Buffer, declared = content.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32LE(declared >>> 0, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

function format({ tag = 1, channels = 1, sampleRate = 44_100, bits = 16 }: Form): Buffer {
  const content = Buffer.alloc(tag === 0xfffe ? 40 : 16);
  content.writeUInt16LE(tag, 0);
  content.writeUInt16LE(channels, 2);
  content.writeUInt32LE(sampleRate, 4);
  content.writeUInt16LE(bits, 14);
  if (content.length > 16) content.writeUInt16LE(1, 24);
  return chunk('fmt ', content);
}

const wav = (...chunks: Buffer[]) => Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE', 'latin1'), ...chunks]);
const rounded = (samples: Float32Array) => [...samples].map((value) => Math.round(value * 1_000) / 1_000);

function packed(bits: number, values: number[], isFloat = false): Buffer {
  const data = Buffer.alloc((values.length * bits) / 8);
  values.forEach((value, index) => {
    const at = (index * bits) / 8;
    if (isFloat) data.writeFloatLE(value, at);
    else if (bits === 8) data.writeUInt8(Math.round(value * 127) + 128, at);
    else data.writeIntLE(Math.round(value * (2 ** (bits - 1) - 1)), at, bits / 8);
  });
  return data;
}

const values = [0, 0.5, -0.5, 1, -1];

describe('a WAV file', () => {
  test.each([16, 24, 32])('with %d bits', (bits) => {
    const read = readWav(wav(format({ bits }), chunk('data', packed(bits, values))))!;
    expect(read.sampleRate).toBe(44_100);
    expect(rounded(read.channels[0]!)).toEqual(values);
  });

  test('with 8 bits, with floating point, and in the extensible form', () => {
    const eight = readWav(wav(format({ bits: 8 }), chunk('data', packed(8, values))))!;
    for (const [index, value] of eight.channels[0]!.entries())
      expect(Math.abs(value - values[index]!)).toBeLessThan(0.02);
    const loud = [...values, 3, Number.NaN];
    const float = readWav(wav(format({ tag: 3, bits: 32 }), chunk('data', packed(32, loud, true))))!;
    expect(rounded(float.channels[0]!)).toEqual([...values, 1, 0]);
    const extensible = readWav(wav(format({ tag: 0xfffe }), chunk('data', packed(16, values))))!;
    expect(rounded(extensible.channels[0]!)).toEqual(values);
  });

  test('of more channels keeps left and right; other chunks are left out', () => {
    const frames = packed(16, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    const read = readWav(wav(chunk('LIST', Buffer.alloc(7)), format({ channels: 3 }), chunk('data', frames)))!;
    expect(read.channels.map(rounded)).toEqual([
      [0.1, 0.4],
      [0.2, 0.5],
    ]);
  });

  test('that was written as it was made goes on to its end', () => {
    for (const declared of [0, 0xffffffff]) {
      const read = readWav(wav(format({}), chunk('data', packed(16, values), declared)))!;
      expect(read.channels[0]).toHaveLength(values.length);
    }
  });

  test('that is none, is empty, or is in another form is refused', () => {
    const data = chunk('data', packed(16, values));
    for (const file of [
      Buffer.alloc(0),
      Buffer.from('RIFF'),
      wav(),
      wav(format({})),
      wav(data),
      wav(format({}), chunk('data', Buffer.alloc(0))),
      ...[{ tag: 2 }, { tag: 3, bits: 64 }, { bits: 12 }, { channels: 0 }, { channels: 9 }, { sampleRate: 96_000 }].map(
        (form) => wav(format(form), data),
      ),
    ]) {
      expect(readWav(file)).toBeUndefined();
    }
  });

  test('of any bytes costs no more than its length', () => {
    const start = wav(format({}));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, isWav) => {
        const read = readWav(Buffer.concat([isWav ? start : Buffer.alloc(0), bytes]));
        expect(read?.channels[0]?.length ?? 0).toBeLessThanOrEqual(bytes.length);
      }),
    );
    const whole = soundFile(0.01).bytes;
    for (let length = 0; length < whole.length; length += 3) readWav(whole.subarray(0, length));
  });
});
