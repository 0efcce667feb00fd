"""A small file of each language, with the outermost units that must be found in it."""

from __future__ import annotations

from typing import NamedTuple


class Sample(NamedTuple):
    """A file; `units` are (signature, first line, last line), doc comment included."""

    file: str
    language: str
    source: str
    units: tuple[tuple[str, int, int], ...]


SAMPLES = (
    Sample(
        "tides.py",
        "python",
        '''"""Tides."""

import math


@cached
def height(hour: float, *, port: str = "Leith") -> float:
    """Height of the water above the chart."""
    return math.sin(hour)


# A gauge on a pier.
class Gauge(Base):
    """Reads the water."""

    def read(self) -> float:
        return 1.0
''',
        (('def height(hour: float, *, port: str = "Leith") -> float', 6, 9), ("class Gauge(Base)", 12, 17)),
    ),
    Sample(
        "tides.jsx",
        "javascript",
        """import React from 'react';

/** Shows the height of the water. */
export function Height({ hour }) {
  return <b>{Math.sin(hour)}</b>;
}

// Doubles a height.
export const twice = async (height) => {
  return height * 2;
};

module.exports.half = function (height) {
  return height / 2;
};

class Gauge extends Base {
  read() { return 1; }
}
""",
        (
            ("function Height({ hour })", 3, 6),
            ("twice = async (height)", 8, 11),
            ("module.exports.half = function (height)", 13, 15),
            ("class Gauge extends Base", 17, 19),
        ),
    ),
    Sample(
        "tides.ts",
        "typescript",
        """/** A port on the coast. */
export interface Port {
  name: string;
}

/** Height of the water. */
export function height(hour: number, port?: Port): number {
  return Math.sin(hour);
}

@injectable()
export abstract class Gauge<T> implements Reader {
  read(): T { return this.value; }
}

export type Hour = number;
""",
        (
            ("interface Port", 1, 4),
            ("function height(hour: number, port?: Port): number", 6, 9),
            ("abstract class Gauge<T> implements Reader", 11, 14),
            ("type Hour = number;", 16, 16),
        ),
    ),
    Sample(
        "tides.tsx",
        "tsx",
        """// Shows a port.
const Port = ({ name }: Props) => {
  return <b>{name}</b>;
};

enum Side { Left, Right }
""",
        (("Port = ({ name }: Props)", 1, 4), ("enum Side", 6, 6)),
    ),
    Sample(
        "tides.go",
        "go",
        """package tides

import "math"

// Port is a place on the coast.
type Port struct {
	Name string
}

// Height returns the height of the water
// above the chart.
func (p *Port) Height(hour float64) (float64, error) {
	return math.Sin(hour), nil
}
""",
        (("type Port struct", 5, 8), ("func (p *Port) Height(hour float64) (float64, error)", 10, 14)),
    ),
    Sample(
        "tides.rs",
        "rust",
        """use std::f64;

/// A port on the coast.
#[derive(Debug)]
pub struct Port {
    name: String,
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut Formatter) -> Result { Ok(()) }
}

/// Height of the water.
///
/// In metres.
pub fn height<T: Into<f64>>(hour: T) -> f64 {
    hour.into().sin()
}
""",
        (
            ("pub struct Port", 3, 7),
            ("impl fmt::Display for Port", 9, 11),
            ("pub fn height<T: Into<f64>>(hour: T) -> f64", 13, 18),
        ),
    ),
    Sample(
        "Tides.java",
        "java",
        """package tides;

/**
 * Heights of the water.
 */
@Service
public class Tides extends Base {
    /** Height. */
    @Override
    public double height(double hour) { return 1; }
}
""",
        (("class Tides extends Base", 3, 11),),
    ),
    Sample(
        "tides.kt",
        "kotlin",
        """package tides

/** A port. */
data class Port(val name: String) {
    fun shout() = name.uppercase()
}

// Height of the water.
fun height(hour: Double, port: Port): Double {
    return sin(hour)
}
""",
        (("data class Port(val name: String)", 3, 6), ("fun height(hour: Double, port: Port): Double", 8, 11)),
    ),
    Sample(
        "tides.c",
        "c",
        """#include <math.h>

/* A port on
   the coast. */
typedef struct port {
    char *name;
} port_t;

// Height of the water.
static double *height(double hour, struct port *p)
{
    return 0;
}
""",
        (("struct port", 3, 7), ("static double *height(double hour, struct port *p)", 9, 13)),
    ),
    Sample(
        "tides.cpp",
        "c++",
        """#include <cmath>

/// A port on the coast.
template <typename T>
class Port : public Base {
 public:
    T name() const { return name_; }
};

// Height of the water.
double Port::height(double hour) const {
    return std::sin(hour);
}
""",
        (("class Port : public Base", 3, 8), ("double Port::height(double hour) const", 10, 13)),
    ),
    Sample(
        "Tides.cs",
        "c#",
        """using System;

/// <summary>Heights of the water.</summary>
[Serializable]
public sealed class Tides : Base
{
    public double Height(double hour) => Math.Sin(hour);
}

// A port.
public interface IPort { string Name { get; } }
""",
        (("public sealed class Tides : Base", 3, 8), ("public interface IPort", 10, 11)),
    ),
    Sample(
        "tides.rb",
        "ruby",
        """require "set"

# A port on the coast.
class Port < Base
  def name; @name; end
end

# Height of the water.
def height(hour, port: nil)
  Math.sin(hour)
end
""",
        (("class Port < Base", 3, 6), ("def height(hour, port: nil)", 8, 11)),
    ),
    Sample(
        "tides.php",
        "php",
        """<?php
namespace Tides;

/** A port on the coast. */
final class Port extends Base
{
    public function name(): string { return $this->name; }
}

// Height of the water.
function height(float $hour): float
{
    return sin($hour);
}
""",
        (("final class Port extends Base", 4, 8), ("function height(float $hour): float", 10, 14)),
    ),
    Sample(
        "tides.swift",
        "swift",
        """import Foundation

/// A port on the coast.
struct Port: Codable {
    let name: String
}

/// Height of the water.
func height(at hour: Double) -> Double {
    return sin(hour)
}
""",
        (("struct Port: Codable", 3, 6), ("func height(at hour: Double) -> Double", 8, 11)),
    ),
    Sample(
        "Tides.scala",
        "scala",
        """package tides

/** A port on the coast. */
case class Port(name: String) extends Base {
  def shout: String = name.toUpperCase
}

// Heights.
object Tides {
  def height(hour: Double): Double = math.sin(hour)
}
""",
        (("case class Port(name: String) extends Base", 3, 6), ("object Tides", 8, 11)),
    ),
    Sample(
        "tides.sh",
        "bash",
        """#!/bin/sh
set -e

# Height of the water.
height() {
  echo "$1"
}

function port { echo Leith; }
""",
        (("height()", 4, 7), ("function port", 9, 9)),
    ),
    Sample(
        "tides.lua",
        "lua",
        """local M = {}

-- Height of the water.
function M.height(hour)
  return math.sin(hour)
end

local port = function(name)
  return name
end

return M
""",
        (("function M.height(hour)", 3, 6), ("port = function(name)", 8, 10)),
    ),
    Sample(
        "tides.ex",
        "elixir",
        '''defmodule Tides do
  @doc """
  Height of the water.
  """
  @spec height(float) :: float
  def height(hour) do
    :math.sin(hour)
  end
end
''',
        (("defmodule Tides", 1, 9),),
    ),
    Sample(
        "Tides.hs",
        "haskell",
        """module Tides where

import Data.List

-- | A port on the coast.
data Port = Leith | Crail

-- | Height of the water.
height :: Double -> Port -> Double
height 0 _ = 0
height hour _ = sin hour
""",
        (("data Port = Leith | Crail", 5, 6), ("height 0 _ = 0", 8, 11)),
    ),
    Sample(
        "tides.sql",
        "sql",
        """-- Ports on the coast.
CREATE TABLE ports (
  name TEXT PRIMARY KEY
);

CREATE VIEW near AS SELECT name FROM ports;
""",
        (("CREATE TABLE ports", 1, 4), ("CREATE VIEW near AS SELECT name FROM ports", 6, 6)),
    ),
    Sample(
        "tides.zig",
        "zig",
        """const std = @import("std");

/// A port on the coast.
pub const Port = struct {
    name: []const u8,
};

/// Height of the water.
pub fn height(hour: f64) f64 {
    return @sin(hour);
}

test "height" {
    try std.testing.expect(true);
}
""",
        (
            ("pub const Port = struct", 3, 6),
            ("pub fn height(hour: f64) f64", 8, 11),
            ('test "height"', 13, 15),
        ),
    ),
    Sample(
        "tides.dart",
        "dart",
        """import 'dart:math';

/// A port on the coast.
class Port extends Base {
  String shout() {
    return name;
  }
}

/// Height of the water.
double height(double hour) {
  return sin(hour);
}
""",
        (("class Port extends Base", 3, 8), ("double height(double hour)", 10, 13)),
    ),
    Sample(
        "tides.jl",
        "julia",
        '''using Dates

# A port on the coast.
struct Port
    name::String
end

"""
Height of the water.
"""
function height(hour::Float64)
    return sin(hour)
end
''',
        (("struct Port", 3, 6), ("function height(hour::Float64)", 8, 13)),
    ),
    Sample(
        "tides.ps1",
        "powershell",
        """# Height of the water.
function Get-Height {
    param([double]$Hour)
    return [math]::Sin($Hour)
}

class Port {
    [string] $Name
}
""",
        (("function Get-Height", 1, 5), ("class Port", 7, 9)),
    ),
    Sample(
        "Tides.sol",
        "solidity",
        """pragma solidity ^0.8.0;

/// A port on the coast.
contract Port is Base {
    function height(uint hour) public view returns (uint) {
        return hour;
    }
}
""",
        (("contract Port is Base", 3, 8),),
    ),
    Sample(
        "tides.groovy",
        "groovy",
        """package tides

// A port on the coast.
class Port {
    String name
}

def height(hour) {
    return Math.sin(hour)
}
""",
        (("class Port", 3, 6), ("def height(hour)", 8, 10)),
    ),
)
